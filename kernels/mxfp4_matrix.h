// Weights in MXFP4: floats of four bits, in blocks of 32 that share a power of two.
#pragma once

#include "kernels/packed_matrix.h"
#include "kernels/record_format.h"

namespace cascade {

// Twice the number that each code stands for: the codes' numbers are 0, 0.5, 1, 1.5, 2, 3, 4, 6 and
// their negatives.
inline constexpr int8_t kTwiceE2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

inline constexpr uint8_t kE8m0Nan = 255;  // the scale that is not a number

// What a scale makes of such a number: 2^(scale - 128). Exact in f32, where the smallest two are
// subnormal. Precondition: scale is not kE8m0Nan.
[[gnu::always_inline]] inline float half_of_e8m0(uint8_t scale) {
  const uint32_t bits = scale < 2 ? 0x00200000u << scale : static_cast<uint32_t>(scale - 1) << 23;
  float value;
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

// Rounds at most kBlock finite weights as the Microscaling Formats (6.3) recommend: the scale is
// that of the largest magnitude, less two for the exponent of 4 and 6; numbers are rounded to the
// nearest, ties to even, and those above 6 become 6.
Mxfp4Block quantize_mxfp4(const float* weights, int count);

// What kernels/packed_matrix.cc does for MXFP4. `words` are those of one lane, one for each line of
// the panel. A row has as many blocks as begin before its end.
void encode_mxfp4_row(const PackedMatrix& matrix, const float* row, uint32_t* words);
void encode_mxfp4_blocks(const PackedMatrix& matrix, const Mxfp4Block* blocks, uint32_t* words);
void get_mxfp4_row(const PackedMatrix& matrix, int channel, float* row);

// Block number `block` of a channel.
Mxfp4Block mxfp4_block(const PackedMatrix& matrix, int panel, int lane, int block);

// Writes the kBlock weights of a block. f32 holds finite ones exactly; if the scale is kE8m0Nan,
// all are NaNs.
void mxfp4_values(const Mxfp4Block& block, float* out);
// Whether all weights of the block are finite in f32: its scale is a number, and no product of the
// largest scales is too large.
bool is_finite(const Mxfp4Block& block);

}  // namespace cascade
