// Small text files, line by line.
#pragma once

#include <string_view>

namespace cascade {

// Takes the first line, including its end, from the text.
std::string_view take_line(std::string_view& text);
// The text without blanks, tabs and line ends at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace cascade
