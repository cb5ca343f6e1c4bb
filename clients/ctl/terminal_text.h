// Text that somebody else wrote, made fit for a terminal: no control characters, known widths.
#pragma once

#include <string>
#include <string_view>

namespace cascade::ctl {

// `text` without anything that a terminal obeys: control characters (escape among them) become
// their pictures (U+2400 and on), C1 controls and bidirectional overrides U+FFFD, as do malformed
// bytes. Newline and tab stay; a carriage return before a newline goes.
std::string sanitized(std::string_view text);

// The same on one line: every run of white space is one space, none at the ends.
std::string one_line(std::string_view text);

// Columns that sanitized text takes in a terminal: wide characters 2, combining ones 0.
int display_width(std::string_view text);

// `text`, if it takes more than `columns`, cut between characters with "…" as its last column.
std::string fitted(std::string_view text, int columns);

// `text` and spaces, before or behind it, to `columns` in all.
std::string padded(std::string_view text, int columns, bool to_the_right);

}  // namespace cascade::ctl
