// How the K and V of 64 tokens of one layer and KV head lie in a page: the key block, then the
// value block.
//
// d = head_dim, p = d rounded up to 16 (the padding is never read as a result).
//   key block    f32, fp16, fp8   [4][d][16]        16 tokens are the lanes: q.k needs no sum
//                bf16             [4][d/2][16][2]   across lanes; as many channels side by side as
//                int8             [4][d/4][16][4]   one load or dot product takes; u8 = q + 128
//   value block  f32, bf16, fp16, fp8   [64][p]
//                int8                   [16][p][4]  4 tokens side by side
// fp8 and int8 blocks end with the scales of the 64 tokens, as f16: x = stored * scale. int8 q is
// in [-127, 127].
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/number_types.h"

namespace cascade {

inline constexpr int kKvBlockTokens = 64;
// Stored in chain keys and on disk beside the KV type: changes whenever a layout changes.
inline constexpr uint32_t kKvLayoutVersion = 2;

// Functions of this header are always inlined: files of different instruction sets include it, and
// no out-of-line copy with one set's instructions may serve the others.
[[gnu::always_inline]] inline constexpr int padded_head_dim(int head_dim) {
  return (head_dim + 15) / 16 * 16;
}

[[gnu::always_inline]] inline constexpr size_t kv_element_bytes(KvType type) {
  if (type == KvType::kF32) return 4;
  return type == KvType::kBf16 || type == KvType::kFp16 ? 2 : 1;
}

[[gnu::always_inline]] inline constexpr bool kv_has_scales(KvType type) {
  return type == KvType::kFp8 || type == KvType::kInt8;
}

// The offset of the scales in a block of `channels` channels.
[[gnu::always_inline]] inline constexpr size_t kv_scales_offset(int channels) {
  return static_cast<size_t>(kKvBlockTokens) * channels;
}

[[gnu::always_inline]] inline constexpr size_t kv_block_bytes(KvType type, int channels) {
  return static_cast<size_t>(kKvBlockTokens) *
         (channels * kv_element_bytes(type) + (kv_has_scales(type) ? sizeof(uint16_t) : 0));
}
[[gnu::always_inline]] inline constexpr size_t key_block_bytes(KvType type, int head_dim) {
  return kv_block_bytes(type, head_dim);
}
[[gnu::always_inline]] inline constexpr size_t value_block_bytes(KvType type, int head_dim) {
  return kv_block_bytes(type, padded_head_dim(head_dim));
}

// Element index of (token, channel) in a key block.
[[gnu::always_inline]] inline constexpr size_t key_index(KvType type, int head_dim, int token,
                                                         int channel) {
  const size_t group = static_cast<size_t>(token / 16) * head_dim * 16;
  const auto lane = static_cast<size_t>(token % 16);
  const int together = type == KvType::kBf16 ? 2 : type == KvType::kInt8 ? 4 : 1;
  return group + static_cast<size_t>(channel / together) * 16 * together + lane * together +
         static_cast<size_t>(channel % together);
}

// Element index of (token, channel) in a value block.
[[gnu::always_inline]] inline constexpr size_t value_index(KvType type, int head_dim, int token,
                                                           int channel) {
  const auto width = static_cast<size_t>(padded_head_dim(head_dim));
  if (type != KvType::kInt8) return token * width + static_cast<size_t>(channel);
  return token / 4 * width * 4 + static_cast<size_t>(channel) * 4 + static_cast<size_t>(token % 4);
}

// An e4m3 number as an f16 2^-8 times as large: the vector kernels widen it that way.
[[gnu::always_inline]] inline constexpr uint16_t e4m3_as_f16(uint8_t bits) {
  return static_cast<uint16_t>((bits & 0x7F) << 7 | (bits & 0x80) << 8);
}
inline constexpr float kE4m3AsF16Scale = 256.0f;

}  // namespace cascade
