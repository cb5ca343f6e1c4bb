// Weights as K-quants: 4, 5 or 6 bits each, with scales of two levels, as GGUF files have them.
//
// A group is 128 weights of one output channel. q is unsigned, in [0, 2^bits).
//   q4k, q5k  w = unit * scale[s] * q - offset_unit * offset[s], one s for each 32 weights;
//             scales and offsets in [0, 255] (files: [0, 63])
//   q6k       w = unit * scale[s] * (q - 32), one s for each 16 weights; scales in [-128, 127]
// The units are f16. A super-block of 256 weights (Q4_K, Q5_K and Q6_K in files) is two groups with
// the same units.
//
// In a panel each group is a record of whole lines of 64 bytes: a word of four bytes for each lane.
//   1 line          units: f16 unit, f16 offset unit (0 in q6k)
//   1 line (q6k 2)  scales: byte s % 4 of line s / 4
//   1 line (q6k 0)  offsets: byte s
//   16 lines        low four bits: byte j of line i has k = 8 i + j in its low half and k = 8 i + 4
//                   + j in the high half, as in int4 panels
//   0, 4 or 8 lines  the bits above these:
//                   q5k: bit t of byte j of line i is that of k = 32 i + 4 t + j
//                   q6k: bits 2 t and 2 t + 1 of byte j of line i are those of k = 16 i + 4 t + j
#pragma once

#include "kernels/packed_matrix.h"

namespace cascade {

struct KQuantFormat {
  int bits;      // of a weight, 4 to 6
  int subgroup;  // weights with one scale, 32 or 16
  bool offsets;  // whether there are offsets; else 2^(bits - 1) is taken off each q

  // All of this header is always inlined (see kernels/kv_format.h).
  [[gnu::always_inline]] constexpr int subgroups() const { return kGroup / subgroup; }
  [[gnu::always_inline]] constexpr int scale_lines() const { return subgroups() / 4; }
  [[gnu::always_inline]] constexpr int high_lines() const { return (bits - 4) * 4; }
  // The first line of each part.
  [[gnu::always_inline]] constexpr int scales_at() const { return 1; }
  [[gnu::always_inline]] constexpr int offsets_at() const { return 1 + scale_lines(); }
  [[gnu::always_inline]] constexpr int low_at() const { return offsets_at() + (offsets ? 1 : 0); }
  [[gnu::always_inline]] constexpr int high_at() const { return low_at() + kGroup / 8; }
  [[gnu::always_inline]] constexpr int lines() const { return high_at() + high_lines(); }
  [[gnu::always_inline]] constexpr size_t record_bytes() const {
    return static_cast<size_t>(lines()) * 64;
  }
};

// Precondition: is_k_quant(type).
[[gnu::always_inline]] inline constexpr KQuantFormat k_quant_format(WeightType type) {
  if (type == WeightType::kQ4K) return {4, 32, true};
  if (type == WeightType::kQ5K) return {5, 32, true};
  return {6, 16, false};
}

// What kernels/packed_matrix.cc does for K-quants. `words` are those of one lane, one for each line
// of the panel.
size_t k_quant_row_words(const PackedMatrix& matrix);
void encode_k_quant_row(const PackedMatrix& matrix, const float* row, uint32_t* words);
void encode_k_quant_groups(const PackedMatrix& matrix, const KQuantGroup* groups, uint32_t* words);
void get_k_quant_row(const PackedMatrix& matrix, int channel, float* row);

// Group number `group` of a channel.
KQuantGroup k_quant_group(const PackedMatrix& matrix, int panel, int lane, int group);

// Writes the 128 weights of a group. They are rounded once at most: f32 holds the products exactly.
void k_quant_values(const KQuantFormat& format, const KQuantGroup& group, float* out);

}  // namespace cascade
