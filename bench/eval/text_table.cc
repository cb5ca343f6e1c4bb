// Two passes: the widths, then the text.
#include "bench/eval/text_table.h"

#include <algorithm>

namespace cascade::eval {

std::string text_table(const std::vector<std::vector<std::string>>& lines, size_t left) {
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - cells[i].size(), ' ');
      if (i > 0) text += "  ";
      text += i < left ? cells[i] + padding : padding + cells[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace cascade::eval
