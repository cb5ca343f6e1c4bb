// The words of texts, as the search index has them: letters and digits, whatever their case and
// accents (https://sqlite.org/fts5.html#unicode61_tokenizer).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cascade {

// Where a word is in its text.
struct WordSpan {
  size_t begin;
  size_t end;
};

// Returns the first word that begins at or after byte `from`, the beginning of a character; nullopt
// if there is none. The text may be any bytes. Any thread.
std::optional<WordSpan> next_word(std::string_view text, size_t from);

// Returns the word without case and accents. Any thread.
std::string folded_word(std::string_view word);

}  // namespace cascade
