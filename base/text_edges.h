// The ends of texts: lines, white space, and marks that are not complete yet.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace cascade {

// White space around what models and clients write.
inline constexpr std::string_view kBlanks = " \t\r\n";

// `text` without the blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  return text.substr(0, text.find_last_not_of(kBlanks) + 1);
}

// Takes the first line, including its end, from `text`.
inline std::string_view take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end == text.npos ? end : end + 1);
  text.remove_prefix(line.size());
  return line;
}

// How many bytes at the end of `text` may be the beginning of `mark`, which is not empty.
inline size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.ends_with(mark.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace cascade
