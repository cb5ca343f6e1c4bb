// Text that somebody else wrote, made fit for a terminal: on one line, of known widths.
#pragma once

#include <string>
#include <string_view>

namespace cascade::ctl {

// `text` sanitized (base/sanitized.h) and on one line: every run of white space is one space, none
// at the ends.
std::string one_line(std::string_view text);

// Columns that sanitized text takes in a terminal: wide characters 2, combining ones 0.
int display_width(std::string_view text);

// `text`, if it takes more than `columns`, cut between characters with "…" as its last column.
std::string fitted(std::string_view text, int columns);

// `text` and spaces, before or behind it, to `columns` in all.
std::string padded(std::string_view text, int columns, bool to_the_right);

}  // namespace cascade::ctl
