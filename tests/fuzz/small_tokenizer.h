// A tokenizer of a few hundred tokens, for targets that need one.
#pragma once

#include "model/tokenizer.h"

namespace cascade::fuzz {

inline constexpr int32_t kSmallEnd = 256;  // <|im_end|>

// Byte-level: the ids 0 to 255 are the bytes, then come four added tokens of chats and some
// beginnings of JSON. Made at the first call.
const Tokenizer& small_tokenizer();

}  // namespace cascade::fuzz
