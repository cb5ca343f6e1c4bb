// The values of the keyword `format`, as patterns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade {

struct TextFormat {
  // All of its texts are of the format (RFC 3339, 9562, ...), but not always the other way round:
  // hosts, addresses and URIs have more forms than it. nullopt: the format says what a text is for
  // and nothing of how it is written (password), or speaks of numbers (int64).
  std::optional<std::string> pattern;
  // What all texts of the format are, for texts that are given: nullopt if that is `pattern`.
  std::optional<std::string> broad;
};

// Null if the format is not known.
const TextFormat* format_named(std::string_view name);

// Their names, for messages.
std::string known_formats();

}  // namespace cascade
