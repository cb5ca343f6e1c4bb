// The input rows of a quantised matrix product: integers with one scale for each 128 of them.
//
// x = q * scale, q in [-127, 127], scale = largest magnitude of the group / 127: it depends on the
// row alone. Weights are stored with a bias (kernels/packed_matrix.h), so rows come with the sums
// that take the bias out again; `minus` is for the offsets of K-quants (kernels/record_format.h).
// L rows (row_lanes) lie side by side in a block, so that a register tile reads them through one
// pointer; G = groups of 128:
//   q        s8  [G * 32][L][4]  (0 from k on)
//   scale    f32 [G][L]
//   bias128  s32 [G][L]          -128 * sum of q in the group
//   bias8    s32 [G][4][L]       -8 * sum of q in each 32 of it
// and, only if the matrix is a K-quant:
//   bias32   s32 [G][8][L]       -32 * sum of q in each 16 of it
//   minus    f32 [G][4][L]       -(sum of q in each 32 of it)
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"

namespace cascade {

// The number of rows in a block when there are many rows: divisible by the number of rows of every
// register tile for many rows.
inline constexpr int kRowBlock = 12;
// Up to this number, rows count as few: their time is bound by reading weights. They lie in smaller
// blocks.
inline constexpr int kFewRows = 24;
inline constexpr int kFewRowsBlock = 8;

// A group whose largest magnitude is below this is all 0: the inverse of its scale could overflow.
inline constexpr float kQuantizedMin = 1e-30f;

inline constexpr int kRowSubgroup = 16;  // values of the shortest sums: those of bias32

// Functions of this header are always inlined (see kernels/kv_format.h).
[[gnu::always_inline]] inline constexpr int row_groups(int k) {
  return (k + kGroup - 1) / kGroup;
}

// The number of rows in a block when `rows` rows are multiplied together: only as many as a tile
// reads, since gaps would take room in the first-level cache.
[[gnu::always_inline]] inline constexpr int row_lanes(int rows) {
  return rows == 1 ? 1 : rows <= 4 ? 4 : rows <= kFewRows ? kFewRowsBlock : kRowBlock;
}

// A multiple of 64.
[[gnu::always_inline]] inline constexpr size_t row_block_bytes(int k, int lanes) {
  const size_t bytes = static_cast<size_t>(row_groups(k)) * lanes * (kGroup + 18 * sizeof(int32_t));
  return (bytes + 63) / 64 * 64;
}
// The bytes of all blocks for `rows` rows.
[[gnu::always_inline]] inline constexpr size_t quantized_rows_bytes(int rows, int k) {
  const int lanes = row_lanes(rows);
  return static_cast<size_t>((rows + lanes - 1) / lanes) * row_block_bytes(k, lanes);
}

// One row of a block. Element k is q[k / 4 * 4 * lanes + k % 4]; group g has scale[lanes * g],
// bias128[lanes * g], bias8[lanes * (4 * g + s)] (minus is like bias8) and bias32[lanes * (8 * g +
// s)]. The next row's q is 4 bytes further, and its other values are one element further.
struct QuantizedRow {
  int8_t* q;
  float* scale;
  int32_t* bias128;
  int32_t* bias8;
  int32_t* bias32;
  float* minus;
  int lanes;
};

// Row `index` of `rows` at `data`.
[[gnu::always_inline]] inline QuantizedRow quantized_row(const uint8_t* data, int rows, int index,
                                                         int k) {
  const int lanes = row_lanes(rows);
  auto* block =
      const_cast<uint8_t*>(data) + static_cast<size_t>(index / lanes) * row_block_bytes(k, lanes);
  const auto lane = static_cast<size_t>(index % lanes);
  const auto elements = static_cast<size_t>(row_groups(k)) * lanes;
  auto* scale = reinterpret_cast<float*>(block + elements * kGroup) + lane;
  auto* bias128 = reinterpret_cast<int32_t*>(scale + elements);
  int32_t* const bias8 = bias128 + elements;
  int32_t* const bias32 = bias8 + 4 * elements;
  auto* minus = reinterpret_cast<float*>(bias32 + 8 * elements);
  return {reinterpret_cast<int8_t*>(block) + lane * 4, scale, bias128, bias8, bias32, minus, lanes};
}

}  // namespace cascade
