// Packing: element by element, since it happens once a start; the layouts in one place.
#include "kernels/packed_matrix.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/checked.h"

namespace cascade {
namespace {

// Index of element (channel, k) of a matrix in panels, in elements.
size_t panel_index(const PackedMatrix& matrix, int channel, int k) {
  const size_t panel = static_cast<size_t>(channel / kPanelChannels) * matrix.k * kPanelChannels;
  const size_t lane = static_cast<size_t>(channel % kPanelChannels);
  if (matrix.type == WeightType::kF32)
    return panel + static_cast<size_t>(k) * kPanelChannels + lane;
  return panel + static_cast<size_t>(k / 2) * kPanelChannels * 2 + lane * 2 +
         static_cast<size_t>(k % 2);
}

}  // namespace

void FreeAligned::operator()(uint8_t* p) const {
  std::free(p);
}

AlignedBytes allocate_aligned(size_t bytes) {
  CHECK(bytes > 0);
  const size_t rounded = round_up(bytes, size_t{64});
  auto* p = static_cast<uint8_t*>(std::aligned_alloc(64, rounded));
  if (p == nullptr) throw std::bad_alloc();
  std::memset(p, 0, rounded);
  return AlignedBytes(p);
}

PackedMatrix make_packed_matrix(WeightType type, MatrixLayout layout, int n, int k) {
  CHECK(n > 0 && k > 0 && k % 8 == 0);
  PackedMatrix matrix;
  matrix.type = layout == MatrixLayout::kRowMajor ? WeightType::kF32 : type;
  matrix.layout = layout;
  matrix.n = n;
  matrix.n_padded = round_up(n, kPanelChannels);
  matrix.k = k;
  matrix.data = allocate_aligned(matrix.bytes());
  return matrix;
}

void set_row(PackedMatrix& matrix, int channel, const float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    std::memcpy(matrix.data.get() + static_cast<size_t>(channel) * matrix.k * sizeof(float), row,
                static_cast<size_t>(matrix.k) * sizeof(float));
    return;
  }
  if (matrix.type == WeightType::kF32) {
    auto* data = reinterpret_cast<float*>(matrix.data.get());
    for (int k = 0; k < matrix.k; ++k) data[panel_index(matrix, channel, k)] = row[k];
  } else {
    auto* data = reinterpret_cast<uint16_t*>(matrix.data.get());
    for (int k = 0; k < matrix.k; ++k) {
      data[panel_index(matrix, channel, k)] = f32_to_bf16(row[k]);
    }
  }
}

void get_row(const PackedMatrix& matrix, int channel, float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    std::memcpy(row, matrix.data.get() + static_cast<size_t>(channel) * matrix.k * sizeof(float),
                static_cast<size_t>(matrix.k) * sizeof(float));
    return;
  }
  if (matrix.type == WeightType::kF32) {
    const auto* data = reinterpret_cast<const float*>(matrix.data.get());
    for (int k = 0; k < matrix.k; ++k) row[k] = data[panel_index(matrix, channel, k)];
  } else {
    const auto* data = reinterpret_cast<const uint16_t*>(matrix.data.get());
    for (int k = 0; k < matrix.k; ++k) {
      row[k] = bf16_to_f32(data[panel_index(matrix, channel, k)]);
    }
  }
}

}  // namespace cascade
