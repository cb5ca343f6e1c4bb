// The values of the keyword `format`, as patterns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade {

struct TextFormat {
  // All texts of the pattern are of the format (RFC 3339, 9562, ...). The reverse is not always
  // true: hosts, addresses and URIs have more forms than the pattern. nullopt if the format says
  // what a text is for but not how it is written (password), or is about numbers (int64).
  std::optional<std::string> pattern;
  // A pattern that all texts of the format match, to check texts that are given; nullopt if
  // `pattern` is such a pattern.
  std::optional<std::string> broad;
};

// Null if the format is not known.
const TextFormat* format_named(std::string_view name);

// The names of the formats, for messages.
std::string known_formats();

}  // namespace cascade
