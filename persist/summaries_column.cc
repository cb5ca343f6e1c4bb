// Each line ends with a line break, so that the empty text stands for no ids.
#include "persist/summaries_column.h"

#include <algorithm>

namespace cascade {

std::string summaries_column(const std::vector<std::string>& ids) {
  std::string text;
  for (const std::string& id : ids) text += id + "\n";
  return text;
}

std::vector<std::string> summaries_from_column(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    ids.emplace_back(text.substr(0, text.find('\n')));
    text.remove_prefix(std::min(text.size(), ids.back().size() + 1));
  }
  return ids;
}

}  // namespace cascade
