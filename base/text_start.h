// Which tokens begin a text: decoders of SentencePiece models leave out a space there.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class TextStart : uint8_t {
  kFirst,  // the first token
  kNone,   // none: the tokens continue a text
  kEach,   // every token, as a text of its own
};

// "first", "none", "each".
std::string_view to_string(TextStart start);
// The inverse; nullopt for an unknown name.
std::optional<TextStart> text_start_from_string(std::string_view name);

}  // namespace cascade
