// Weight matrices, packed once at load into the layout that kernels read for every row count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "base/number_types.h"

namespace cascade {

// kPanels16: output channels in panels of 16, the lanes of the vector registers; along k ascending,
//   so that one panel is read front to back. G = groups of 128 along k, the last filled up with 0.
//     f32   [n/16] { [k][16] }
//     bf16  [n/16] { [k/2][16][2] }  two values of k side by side: one load gives both
//     int8  [n/16] { u8 [G][32][16][4], bf16 scales [G][16] }
//           u8 = q + 128, w = q * scale, q in [-127, 127]; four values of k side by side, as the
//           dot product instructions take them
//     int4  [n/16] { nibbles [G][16][16][4], multipliers [G][2][16], bf16 scales [G][16] }
//           byte [i][lane][j] has q + 8 of k = 8 i + j in its low half and of k = 8 i + 4 + j in
//           the high half; w = q * m * scale, q in [-8, 7]. Each 32 values of k have an m in
//           [1, 15]: byte [h][lane] has that of the first (low half) and second 32 of half h. q * m
//           fits int8, so an int4 matrix is an int8 matrix that is kept small: both give the same
//           integer sums.
//     int8, int4 with block scales: an f16 scale for each 32 weights, as Q8_0 and Q4_0 have them
//           u8 [G][32][16][4] (q in [-128, 127]) or nibbles [G][16][16][4], f16 scales [G][4][16]
//     q4k, q5k, q6k, mxfp4  [n/16] { records [G] } (kernels/record_format.h)
// kRowMajor: f32 [n][k], for a BLAS.
enum class MatrixLayout : uint8_t { kPanels16, kRowMajor };

inline constexpr int kPanelChannels = 16;  // lanes of an AVX-512 register of f32
inline constexpr int kGroup = 128;         // weights, and activations, with one scale
inline constexpr int kSubgroup = 32;       // int4 weights with one multiplier
inline constexpr int kBlock = 32;          // weights of a block of Q8_0, Q4_0 and MXFP4

// Owns 64-byte aligned memory.
struct FreeAligned {
  void operator()(uint8_t* p) const;
};
using AlignedBytes = std::unique_ptr<uint8_t[], FreeAligned>;
// Zeroed. bytes > 0; throws std::bad_alloc if there is no memory.
AlignedBytes allocate_aligned(size_t bytes);

struct PackedMatrix {
  WeightType type = WeightType::kF32;
  MatrixLayout layout = MatrixLayout::kPanels16;
  int n = 0;         // output channels
  int n_padded = 0;  // n rounded up to whole panels; the padding is 0
  int k = 0;         // input channels, a multiple of 8
  // int8 and int4: whether the scales are those of blocks; then k is a multiple of 32.
  bool block_scales = false;
  // bytes() bytes, 64-byte aligned; not owned. Only set_row() and pack_panel() write them.
  uint8_t* data = nullptr;

  int panels() const { return n_padded / kPanelChannels; }
  // Whether the input rows are quantised too (kernels/quantized_rows.h).
  bool quantized() const { return is_quantized(type); }
  int groups() const { return (k + kGroup - 1) / kGroup; }
  // int8 and int4: the number of weights that share a scale.
  int scale_span() const { return block_scales ? kBlock : kGroup; }
  size_t panel_bytes() const;  // a multiple of 64
  size_t bytes() const { return static_cast<size_t>(panels()) * panel_bytes(); }

  const uint8_t* panel(int index) const { return data + index * panel_bytes(); }
  // int8 and int4: the offsets of the parts of a panel.
  size_t multipliers_offset() const;  // kInt4; there are none if block_scales
  size_t scales_offset() const;
};

// A matrix without memory: its data must have bytes() bytes, zeroed. Row-major matrices are always
// f32.
PackedMatrix describe_matrix(WeightType type, MatrixLayout layout, int n, int k,
                             bool block_scales = false);

// Stores row `channel` (k floats), rounding to the matrix's type. Different channels may be set
// from different threads.
void set_row(PackedMatrix& matrix, int channel, const float* row);

// Writes the panel_bytes() bytes of a panel to `panel`, which need be neither in the matrix's
// memory nor zeroed. They are what set_row() stores for the first `rows` channels in zeroed memory.
// `read` is called for a few of these channels at a time: it is given the first, their number, and
// the place for the k floats of each.
using RowReader = std::function<void(int first, int count, float* rows)>;
void pack_panel(const PackedMatrix& matrix, int rows, const RowReader& read, uint8_t* panel);

// Weights in blocks, as files have them: w = q * scale. An int4 matrix holds q in [-8, 7].
struct WeightBlock {
  int8_t q[kBlock];
  uint16_t scale;  // f16
};

// Like pack_panel(), for a matrix with block scales: it takes blocks over as they are, k / 32 of
// them for each row.
using BlockRowReader = std::function<void(int first, int count, WeightBlock* blocks)>;
void pack_panel(const PackedMatrix& matrix, int rows, const BlockRowReader& read, uint8_t* panel);

// The weights of one group of a K-quant (kernels/record_format.h). q6k has eight scales and no
// offsets; the others have four of each.
struct KQuantGroup {
  uint8_t q[kGroup];
  int16_t scales[8];
  uint8_t offsets[4];
  uint16_t unit;         // f16, of the scales
  uint16_t offset_unit;  // f16, of the offsets
};

// Like pack_panel(), for a matrix of a K-quant: it takes groups over as they are, k / 128 rounded
// up of them for each row.
using KQuantRowReader = std::function<void(int first, int count, KQuantGroup* groups)>;
void pack_panel(const PackedMatrix& matrix, int rows, const KQuantRowReader& read, uint8_t* panel);

// The weights of one block of MXFP4 (kernels/mxfp4_matrix.h): codes in [0, 15], and the exponent of
// their scale.
struct Mxfp4Block {
  uint8_t codes[kBlock];
  uint8_t scale;
};

// Like pack_panel(), for a matrix of MXFP4: it takes blocks over as they are, k / 32 of them for
// each row. Precondition: k is a multiple of 32.
using Mxfp4RowReader = std::function<void(int first, int count, Mxfp4Block* blocks)>;
void pack_panel(const PackedMatrix& matrix, int rows, const Mxfp4RowReader& read, uint8_t* panel);

// Reads row `channel` back as f32 (k floats): the embedding of a token whose matrix is also the LM
// head.
void get_row(const PackedMatrix& matrix, int channel, float* row);

}  // namespace cascade
