// A table without a header, in which long values continue below their beginning.
#include "clients/ctl/facts.h"

#include <algorithm>

#include "clients/ctl/terminal_text.h"
#include "clients/ctl/word_wrap.h"

namespace cascade::ctl {
namespace {

constexpr int kValueColumns = 200;
// Narrower values than this are harder to read than lines that the terminal wraps.
constexpr int kValueColumnsMin = 12;

}  // namespace

std::string Facts::render(const Style& style) const {
  int name_width = 0;
  for (const auto& [name, value] : facts_) name_width = std::max(name_width, display_width(name));
  const std::string gap = "  ";
  const int indent = name_width + display_width(gap);
  const int columns =
      style.columns() > 0 ? std::max(style.columns(), indent + kValueColumnsMin) : 0;
  std::string out;
  for (const auto& [name, value] : facts_) {
    const std::string text = fitted(one_line(value), kValueColumns);
    out += style.dim(padded(name, name_width, false)) + gap +
           wrapped_behind(indent, text, columns) + '\n';
  }
  return out;
}

}  // namespace cascade::ctl
