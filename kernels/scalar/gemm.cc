// The matrix product in plain loops: one fma chain over k for each output.
#include "kernels/scalar/gemm.h"

#include <cmath>

namespace cascade::scalar {
namespace {

float weight_at(const PackedMatrix& w, int panel, int k, int lane) {
  const size_t base = static_cast<size_t>(panel) * w.k * kPanelChannels;
  if (w.type == WeightType::kF32) {
    return reinterpret_cast<const float*>(w.data)[base + size_t(k) * kPanelChannels + lane];
  }
  const auto* data = reinterpret_cast<const uint16_t*>(w.data);
  return bf16_to_f32(data[base + size_t(k / 2) * 2 * kPanelChannels + 2 * lane + k % 2]);
}

}  // namespace

void gemm(const GemmArgs& args) {
  for (int panel = args.panel_begin; panel < args.panel_end; ++panel) {
    for (int row = 0; row < args.rows; ++row) {
      const float* x = args.x + row * args.x_stride;
      float sum[kPanelChannels] = {};
      for (int k = 0; k < args.w->k; ++k) {
        for (int lane = 0; lane < kPanelChannels; ++lane) {
          sum[lane] = std::fmaf(x[k], weight_at(*args.w, panel, k, lane), sum[lane]);
        }
      }
      float* y = args.y + row * args.y_stride + size_t(panel) * kPanelChannels;
      for (int lane = 0; lane < kPanelChannels; ++lane) y[lane] = sum[lane];
    }
  }
}

}  // namespace cascade::scalar
