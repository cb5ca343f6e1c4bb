// Text that somebody else wrote, made fit for a terminal: on one line, of known widths.
#pragma once

#include <string>
#include <string_view>

namespace cascade::ctl {

// `text` sanitized (base/sanitized.h) and on one line: every run of white space becomes one space,
// and there is none at the ends.
std::string one_line(std::string_view text);

// The columns that sanitized text takes in a terminal: wide characters 2, combining ones 0.
int display_width(std::string_view text);

// `text`, or, if it takes more than `columns`, `text` cut between characters with "…" as its last
// column.
std::string fitted(std::string_view text, int columns);

// `text` with spaces before or after it, `columns` columns in all.
std::string padded(std::string_view text, int columns, bool to_the_right);

}  // namespace cascade::ctl
