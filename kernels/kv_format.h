// How the K and V of 64 tokens of one layer and KV head lie in a page: the key block, the value
// block.
//
// d = head_dim, p = d rounded up to 16 (the padding is 0 and never read as a result).
//   key block    f32   [4][d][16]        16 tokens are the lanes: q.k needs no sum across lanes
//                bf16  [4][d/2][16][2]   two channels side by side: one load gives both
//   value block  f32   [64][p]
//                bf16  [64][p]
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"

namespace cascade {

inline constexpr int kKvBlockTokens = 64;
// Stored in chain keys and on disk beside the KV type: changes whenever a layout changes.
inline constexpr uint32_t kKvLayoutVersion = 1;

// Functions of this header are always inlined: files of different instruction sets include it, and
// no out-of-line copy with one set's instructions may serve the others.
[[gnu::always_inline]] inline constexpr int padded_head_dim(int head_dim) {
  return (head_dim + 15) / 16 * 16;
}

[[gnu::always_inline]] inline constexpr size_t kv_element_bytes(KvType type) {
  return type == KvType::kF32 ? 4 : 2;
}

[[gnu::always_inline]] inline constexpr size_t key_block_bytes(KvType type, int head_dim) {
  return static_cast<size_t>(kKvBlockTokens) * head_dim * kv_element_bytes(type);
}
[[gnu::always_inline]] inline constexpr size_t value_block_bytes(KvType type, int head_dim) {
  return static_cast<size_t>(kKvBlockTokens) * padded_head_dim(head_dim) * kv_element_bytes(type);
}

// Element index of (token, channel) in a key block.
[[gnu::always_inline]] inline constexpr size_t key_index(KvType type, int head_dim, int token,
                                                         int channel) {
  const size_t group = static_cast<size_t>(token / 16) * head_dim * 16;
  const size_t lane = static_cast<size_t>(token % 16);
  if (type == KvType::kF32) return group + static_cast<size_t>(channel) * 16 + lane;
  return group + static_cast<size_t>(channel / 2) * 32 + lane * 2 +
         static_cast<size_t>(channel % 2);
}

// Element index of (token, channel) in a value block.
[[gnu::always_inline]] inline constexpr size_t value_index(int head_dim, int token, int channel) {
  return static_cast<size_t>(token) * padded_head_dim(head_dim) + static_cast<size_t>(channel);
}

// One element of a block as f32.
[[gnu::always_inline]] inline float load_kv(KvType type, const uint8_t* block, size_t index) {
  if (type == KvType::kF32) {
    float value;
    __builtin_memcpy(&value, block + index * 4, sizeof value);
    return value;
  }
  uint16_t bits;
  __builtin_memcpy(&bits, block + index * 2, sizeof bits);
  return bf16_to_f32(bits);
}

[[gnu::always_inline]] inline void store_kv(KvType type, uint8_t* block, size_t index,
                                            float value) {
  if (type == KvType::kF32) {
    __builtin_memcpy(block + index * 4, &value, sizeof value);
    return;
  }
  const uint16_t bits = f32_to_bf16(value);
  __builtin_memcpy(block + index * 2, &bits, sizeof bits);
}

}  // namespace cascade
