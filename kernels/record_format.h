// Panels of records: the weights of K-quants and MXFP4, as files have them.
//
// A group is 128 weights of one output channel. q are its bits: unsigned, in [0, 2^bits).
//   q4k, q5k  w = unit * scale[s] * q - offset_unit * offset[s], one s for each 32 weights;
//             scales and offsets in [0, 255] (files: [0, 63])
//   q6k       w = unit * scale[s] * (q - 32), one s for each 16 weights; scales in [-128, 127]
//   mxfp4     w = 2^(scale[s] - 127) * e2m1(q), one s for each 32 weights; scales in [0, 254]; e2m1
//             is a sign, two bits of exponent and one of mantissa (OCP Microscaling Formats,
//             version 1.0, 5.3.3)
// The units are f16. A super-block of 256 weights (Q4_K, Q5_K and Q6_K in files) is two groups with
// the same units.
//
// In a panel each group is a record of whole lines of 64 bytes: a word of four bytes for each lane.
//   1 line (mxfp4 0)  units: f16 unit, f16 offset unit (0 in q6k)
//   1 line (q6k 2)    scales: byte s % 4 of line s / 4
//   1 line (q4k, q5k) offsets: byte s
//   16 lines          low four bits: byte j of line i has k = 8 i + j in its low half and k = 8 i +
//                     4 + j in the high half, as in int4 panels
//   0, 4 or 8 lines   the bits above these:
//                     q5k: bit t of byte j of line i is that of k = 32 i + 4 t + j
//                     q6k: bits 2 t and 2 t + 1 of byte j of line i are those of k = 16 i + 4 t + j
#pragma once

#include "kernels/packed_matrix.h"

namespace cascade {

[[gnu::always_inline]] inline constexpr bool has_records(WeightType type) {
  return is_k_quant(type) || type == WeightType::kMxfp4;
}

struct RecordFormat {
  int bits;             // of a weight, 4 to 6
  int subgroup;         // weights with one scale, 32 or 16
  bool offsets;         // q4k, q5k: whether there are offsets
  bool floats = false;  // mxfp4: q are floats, and scales are exponents without a unit

  // All of this header is always inlined (see kernels/kv_format.h).
  [[gnu::always_inline]] constexpr int subgroups() const { return kGroup / subgroup; }
  [[gnu::always_inline]] constexpr int scale_lines() const { return subgroups() / 4; }
  [[gnu::always_inline]] constexpr int high_lines() const { return (bits - 4) * 4; }
  // The first line of each part.
  [[gnu::always_inline]] constexpr int scales_at() const { return floats ? 0 : 1; }
  [[gnu::always_inline]] constexpr int offsets_at() const { return scales_at() + scale_lines(); }
  [[gnu::always_inline]] constexpr int low_at() const { return offsets_at() + (offsets ? 1 : 0); }
  [[gnu::always_inline]] constexpr int high_at() const { return low_at() + kGroup / 8; }
  [[gnu::always_inline]] constexpr int lines() const { return high_at() + high_lines(); }
  [[gnu::always_inline]] constexpr size_t record_bytes() const {
    return static_cast<size_t>(lines()) * 64;
  }
};

// Precondition: has_records(type).
[[gnu::always_inline]] inline constexpr RecordFormat record_format(WeightType type) {
  if (type == WeightType::kQ4K) return {4, 32, true};
  if (type == WeightType::kQ5K) return {5, 32, true};
  if (type == WeightType::kQ6K) return {6, 16, false};
  return {4, 32, false, true};
}

}  // namespace cascade
