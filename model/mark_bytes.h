// Special tokens within texts.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// Begins the bytes of a special token in a text. No other text has this byte, because UTF-8 has
// none, so text cannot pass for such a token.
inline constexpr char kMarkByte = '\xFF';

// The bytes that stand for the special token with this spelling.
inline std::string mark_bytes(std::string_view spelling) {
  return kMarkByte + std::string(spelling);
}

}  // namespace cascade
