// The layouts of f32 and bf16 matrices, and the way to those of the others.
#include "kernels/packed_matrix.h"

#include <cstdlib>
#include <cstring>
#include <new>

#include "base/check.h"
#include "base/checked.h"
#include "kernels/quantized_matrix.h"

namespace cascade {
namespace {

// Index of element (channel, k) of an f32 or bf16 matrix in panels, within its panel.
size_t panel_index(const PackedMatrix& matrix, int channel, int k) {
  const size_t lane = static_cast<size_t>(channel % kPanelChannels);
  if (matrix.type == WeightType::kF32) return static_cast<size_t>(k) * kPanelChannels + lane;
  return static_cast<size_t>(k / 2) * kPanelChannels * 2 + lane * 2 + static_cast<size_t>(k % 2);
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

size_t PackedMatrix::multipliers_offset() const {
  return static_cast<size_t>(groups()) * kGroup * kPanelChannels / 2;
}

size_t PackedMatrix::scales_offset() const {
  const auto weights = static_cast<size_t>(groups()) * kGroup * kPanelChannels;
  if (type == WeightType::kInt8) return weights;
  return multipliers_offset() + static_cast<size_t>(groups()) * 2 * kPanelChannels;
}

size_t PackedMatrix::panel_bytes() const {
  if (!quantized()) {
    const size_t element = type == WeightType::kF32 ? sizeof(float) : sizeof(uint16_t);
    return static_cast<size_t>(k) * kPanelChannels * element;
  }
  const size_t scales = static_cast<size_t>(groups()) * kPanelChannels * sizeof(uint16_t);
  return round_up(scales_offset() + scales, size_t{64});
}

PackedMatrix describe_matrix(WeightType type, MatrixLayout layout, int n, int k) {
  CHECK(n > 0 && k > 0 && k % 8 == 0);
  PackedMatrix matrix;
  matrix.type = layout == MatrixLayout::kRowMajor ? WeightType::kF32 : type;
  matrix.layout = layout;
  matrix.n = n;
  matrix.n_padded = round_up(n, kPanelChannels);
  matrix.k = k;
  return matrix;
}

void set_row(PackedMatrix& matrix, int channel, const float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    const size_t bytes = static_cast<size_t>(matrix.k) * sizeof(float);
    std::memcpy(matrix.data + static_cast<size_t>(channel) * bytes, row, bytes);
    return;
  }
  if (matrix.quantized()) return set_quantized_row(matrix, channel, row);
  uint8_t* panel = matrix.data + (channel / kPanelChannels) * matrix.panel_bytes();
  for (int k = 0; k < matrix.k; ++k) {
    const size_t index = panel_index(matrix, channel, k);
    if (matrix.type == WeightType::kF32) {
      reinterpret_cast<float*>(panel)[index] = row[k];
    } else {
      reinterpret_cast<uint16_t*>(panel)[index] = f32_to_bf16(row[k]);
    }
  }
}

void get_row(const PackedMatrix& matrix, int channel, float* row) {
  CHECK(channel >= 0 && channel < matrix.n);
  if (matrix.layout == MatrixLayout::kRowMajor) {
    const size_t bytes = static_cast<size_t>(matrix.k) * sizeof(float);
    std::memcpy(row, matrix.data + static_cast<size_t>(channel) * bytes, bytes);
    return;
  }
  if (matrix.quantized()) return get_quantized_row(matrix, channel, row);
  const uint8_t* panel = matrix.panel(channel / kPanelChannels);
  for (int k = 0; k < matrix.k; ++k) {
    const size_t index = panel_index(matrix, channel, k);
    row[k] = matrix.type == WeightType::kF32
                 ? reinterpret_cast<const float*>(panel)[index]
                 : bf16_to_f32(reinterpret_cast<const uint16_t*>(panel)[index]);
  }
}

}  // namespace cascade
