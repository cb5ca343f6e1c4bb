// Small text files, line by line.
#pragma once

#include <string_view>

namespace cascade {

// Takes the first line, with its end, from the text.
std::string_view take_line(std::string_view& text);
// Without blanks, tabs and ends of lines at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace cascade
