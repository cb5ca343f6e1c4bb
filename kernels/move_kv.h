// Reading and moving a token's stored K and V, element by element.
#pragma once

#include <cstdint>

#include "base/number_types.h"

namespace cascade {

// Where the K and V of one head are: blocks of 64 tokens (kernels/kv_format.h).
template <class Byte>
struct KvBlocks {
  Byte* key;
  Byte* value;
};

// Copies K and V of the token `from_token` of `from` to the token `to_token` of `to`, bit for bit.
// Padding is not copied.
void copy_kv(KvType type, int head_dim, const KvBlocks<const uint8_t>& from, int from_token,
             const KvBlocks<uint8_t>& to, int to_token);

// Copies V alone.
void copy_value(KvType type, int head_dim, const uint8_t* from, int from_token, uint8_t* to,
                int to_token);

// Returns the token's key as the kernels of attention take it, [head_dim].
void read_key(KvType type, int head_dim, int token, const uint8_t* key_block, float* key);

}  // namespace cascade
