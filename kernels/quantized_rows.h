// The input rows of an int8 or int4 matrix product: integers with one scale for each 128 of them.
//
// x = q * scale, q in [-127, 127], scale = largest magnitude of the group / 127: it depends on the
// row alone. Weights are stored with a bias (kernels/packed_matrix.h), so rows come with the sums
// that take the bias out again. Twelve rows lie side by side in a block, so that a register tile
// reads them through one pointer; G = groups of 128:
//   q        s8  [G * 32][12][4]  (0 from k on)
//   scale    f32 [G][12]
//   bias128  s32 [G][12]          -128 * sum of q in the group
//   bias8    s32 [G][4][12]       -8 * sum of q in each 32 of it
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"

namespace cascade {

// The most rows of a register tile; divisible by all smaller ones.
inline constexpr int kRowBlock = 12;
// A group whose largest magnitude is below this is all 0: the inverse of its scale could overflow.
inline constexpr float kQuantizedMin = 1e-30f;

// Functions of this header are always inlined (see kernels/kv_format.h).
[[gnu::always_inline]] inline constexpr int row_groups(int k) {
  return (k + kGroup - 1) / kGroup;
}

// A multiple of 64.
[[gnu::always_inline]] inline constexpr size_t row_block_bytes(int k) {
  return static_cast<size_t>(row_groups(k)) * kRowBlock * (kGroup + 6 * sizeof(int32_t)) / 64 * 64 +
         64;
}
// Of all blocks that `rows` rows take.
[[gnu::always_inline]] inline constexpr size_t quantized_rows_bytes(int rows, int k) {
  return static_cast<size_t>((rows + kRowBlock - 1) / kRowBlock) * row_block_bytes(k);
}

// One row of a block: element k is q[k / 4 * 48 + k % 4]; of group g, scale[12 g], bias128[12 g],
// bias8[48 g + 12 s]. The next row is 4 bytes, or one element, further.
struct QuantizedRow {
  int8_t* q;
  float* scale;
  int32_t* bias128;
  int32_t* bias8;
};

[[gnu::always_inline]] inline QuantizedRow quantized_row(const uint8_t* rows, int index, int k) {
  auto* block =
      const_cast<uint8_t*>(rows) + static_cast<size_t>(index / kRowBlock) * row_block_bytes(k);
  const auto lane = static_cast<size_t>(index % kRowBlock);
  const auto groups = static_cast<size_t>(row_groups(k));
  auto* scale = reinterpret_cast<float*>(block + groups * kGroup * kRowBlock) + lane;
  auto* bias128 = reinterpret_cast<int32_t*>(scale + groups * kRowBlock);
  return {reinterpret_cast<int8_t*>(block) + lane * 4, scale, bias128,
          bias128 + groups * kRowBlock};
}

}  // namespace cascade
