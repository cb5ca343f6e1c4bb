// The bytes that each token stands for, by itself and in a text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "model/tokenizer.h"
#include "model/tokenizer/parts.h"

namespace cascade {

// nullopt if the decoder's steps do more than spell a token differently.
std::optional<TokenBytes> token_bytes(const TokenizerParts& parts);

// See Tokenizer::pieces().
std::optional<std::vector<TokenPiece>> token_pieces(const TokenizerParts& parts,
                                                    std::span<const int32_t> ids, TextStart start,
                                                    size_t bytes_max);

}  // namespace cascade
