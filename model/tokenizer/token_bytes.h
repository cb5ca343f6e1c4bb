// The bytes that each token stands for by itself.
#pragma once

#include <optional>

#include "model/tokenizer.h"
#include "model/tokenizer/parts.h"

namespace cascade {

// nullopt if the decoder's steps do more to a token than to spell it otherwise.
std::optional<TokenBytes> token_bytes(const TokenizerParts& parts);

}  // namespace cascade
