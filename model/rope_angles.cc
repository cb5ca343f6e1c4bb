// A row has the angles of all tables side by side.
#include "model/rope_angles.h"

#include <algorithm>

#include "base/checked.h"

namespace cascade {
namespace {

constexpr int kLineFloats = 16;  // of a cache line

bool has_local(const ModelConfig& config) {
  return std::ranges::count(config.layer_rope, LayerRope::kLocal) != 0;
}

size_t angles_stride(const ModelConfig& config) {
  const int local = has_local(config) ? config.rotary_dim(LayerRope::kLocal) : 0;
  return size_t(round_up(std::max(config.rotary_dim(LayerRope::kMain), local) / 2, kLineFloats));
}

}  // namespace

RopeAngles::RopeAngles(const ModelConfig& config, int rows_max)
    : stride_(angles_stride(config)),
      memory_(PackedMemory::require(bytes(config, rows_max))),
      angles_(reinterpret_cast<float*>(memory_.data())) {
  tables_.emplace_back(config.rope, config.rotary_dim(LayerRope::kMain));
  if (has_local(config)) {
    tables_.emplace_back(config.local_rope, config.rotary_dim(LayerRope::kLocal));
  }
}

size_t RopeAngles::bytes(const ModelConfig& config, int rows_max) {
  const size_t tables = has_local(config) ? 2 : 1;
  return size_t(rows_max) * tables * 2 * angles_stride(config) * sizeof(float);
}

void RopeAngles::set(int row, int64_t position) {
  float* to = angles_ + size_t(row) * tables_.size() * 2 * stride_;
  for (const RopeTable& table : tables_) {
    table.angles(position, to, to + stride_);
    to += 2 * stride_;
  }
}

}  // namespace cascade
