// The angles by which the rows of a pass are rotated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/config.h"
#include "model/packed_memory.h"
#include "model/rope.h"

namespace cascade {

// Holds cos and sin for the main RoPE of a model, and for that of layers with LayerRope::kLocal if
// there are some. Different rows may be set by different threads.
class RopeAngles {
 public:
  // May throw std::bad_alloc.
  RopeAngles(const ModelConfig& config, int rows_max);

  // The bytes of all buffers.
  static size_t bytes(const ModelConfig& config, int rows_max);

  void set(int row, int64_t position);

  // [rotary_dim / 2] each. Precondition: `kind` is not kNone.
  const float* cos(LayerRope kind, int row) const { return angles(kind, row); }
  const float* sin(LayerRope kind, int row) const { return angles(kind, row) + stride_; }

 private:
  const float* angles(LayerRope kind, int row) const {
    const size_t table = kind == LayerRope::kLocal ? 1 : 0;
    return angles_ + (size_t(row) * tables_.size() + table) * 2 * stride_;
  }

  std::vector<RopeTable> tables_;  // of kMain, and of kLocal if some layer has that
  size_t stride_;                  // of cos, or sin
  PackedMemory memory_;
  float* angles_;  // [rows_max][tables][cos, sin][stride], in memory_
};

}  // namespace cascade
