// Weight matrices, packed once at load into the layout that kernels read for every row count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/number_types.h"

namespace cascade {

// kPanels16: output channels in panels of 16, the lanes of the vector registers; along k ascending,
//   so that one panel is read front to back.
//     f32   [n/16][k][16]
//     bf16  [n/16][k/2][16][2]   two values of k side by side: one load gives 16 channels of both
// kRowMajor: f32 [n][k], for a BLAS.
enum class MatrixLayout : uint8_t { kPanels16, kRowMajor };

inline constexpr int kPanelChannels = 16;  // lanes of an AVX-512 register of f32

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
  AlignedBytes data;

  int panels() const { return n_padded / kPanelChannels; }
  size_t element_bytes() const { return type == WeightType::kF32 ? 4 : 2; }
  size_t bytes() const { return static_cast<size_t>(n_padded) * k * element_bytes(); }
};

// An empty (zero) matrix with memory. Row-major matrices are always f32.
PackedMatrix make_packed_matrix(WeightType type, MatrixLayout layout, int n, int k);

// Stores row `channel` (k floats), rounding to the matrix's type. Different channels may be set
// from different threads.
void set_row(PackedMatrix& matrix, int channel, const float* row);

// Reads row `channel` back as f32 (k floats): the embedding of a token whose matrix is also the LM
// head.
void get_row(const PackedMatrix& matrix, int channel, float* row);

}  // namespace cascade
