// A table without its header.
#include "clients/ctl/facts.h"

namespace cascade::ctl {

std::string Facts::render(const Style& style) const {
  constexpr int kValueColumns = 200;
  const std::string table =
      render_table({{"", Align::kLeft}, {"", Align::kLeft, kValueColumns}}, rows_, style);
  return table.substr(table.find('\n') + 1);
}

}  // namespace cascade::ctl
