// Hand-written matchers for the regular expressions that most models use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class KnownPattern : uint8_t {
  kGpt2,    // words, numbers and punctuation, each with the space before it
  kLlama3,  // numbers of up to three digits; any character may lead a word
  kQwen2,   // as kLlama3, but single digits
};

// The text of a pattern as it is written in tokenizer.json.
std::string_view known_pattern_text(KnownPattern pattern);

// The pattern with exactly this text.
std::optional<KnownPattern> known_pattern(std::string_view text);

// End of the match that begins at `begin`: these patterns match at each position.
// Preconditions: `text` is well-formed UTF-8; begin < text.size() is the start of a code point.
size_t known_pattern_end(KnownPattern pattern, std::string_view text, size_t begin);

}  // namespace cascade
