// Tables for people, on standard error.
#pragma once

#include <string>
#include <vector>

namespace cascade::eval {

// Lines of cells, all as long as the first one, with columns of equal width: the first `left`
// columns to the left, the others to the right. Widths are counted in bytes. Precondition: there is
// a line.
std::string text_table(const std::vector<std::vector<std::string>>& lines, size_t left = 1);

}  // namespace cascade::eval
