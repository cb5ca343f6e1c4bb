// Weights as int8 and int4: how they are rounded, and where they lie in a panel.
#pragma once

#include "kernels/packed_matrix.h"

namespace cascade {

// The offset of the byte q + 128 of element (lane, k) of an int8 panel.
[[gnu::always_inline]] inline constexpr size_t int8_index(int lane, int k) {
  return static_cast<size_t>(k / 4) * kPanelChannels * 4 + static_cast<size_t>(lane) * 4 +
         static_cast<size_t>(k % 4);
}
// The offset of the byte of element (lane, k) of an int4 panel. The element is in the high half of
// the byte if k % 8 >= 4.
[[gnu::always_inline]] inline constexpr size_t int4_index(int lane, int k) {
  return static_cast<size_t>(k / 8) * kPanelChannels * 4 + static_cast<size_t>(lane) * 4 +
         static_cast<size_t>(k % 4);
}

// The weights of one group of an output channel as integers: w = q * multiplier * scale.
struct QuantizedGroup {
  int8_t q[kGroup];
  uint8_t multipliers[kGroup / kSubgroup];  // int8: 1
  uint16_t scale;                           // bf16
};

// Scale = largest magnitude / 127, rounded up to bf16, so that nothing is clipped.
QuantizedGroup quantize_int8(const float* weights, int count);
// Scale and multipliers with the least squared error among a few candidates.
QuantizedGroup quantize_int4(const float* weights, int count);

// One block of a matrix with block scales. Its scale is the one at which the largest weight just
// fits, rounded up to f16.
WeightBlock quantize_block(WeightType type, const float* weights);

// The number of four-byte words that a row of an int8 or int4 matrix has in its lane of a panel,
// one in every 64 bytes; and the encoding of a row into these words. Scales and multipliers are
// written to their places in `panel`.
size_t quantized_row_words(const PackedMatrix& matrix);
void encode_quantized_row(const PackedMatrix& matrix, const float* row, int lane, uint32_t* words,
                          uint8_t* panel);
// The same encoding for the k / 32 blocks of a row.
void encode_blocks(const PackedMatrix& matrix, const WeightBlock* blocks, int lane, uint32_t* words,
                   uint8_t* panel);

// get_row() of int8 and int4 matrices.
void get_quantized_row(const PackedMatrix& matrix, int channel, float* row);

// q * m + 128 of element (lane, k), as an int8 panel has it; m is 1 with block scales.
int quantized_weight(const PackedMatrix& matrix, int panel, int lane, int k);
// Scale number `index` of a lane: that of weights [index * span, (index + 1) * span), where span =
// matrix.scale_span().
float weight_scale(const PackedMatrix& matrix, int panel, int lane, int index);

}  // namespace cascade
