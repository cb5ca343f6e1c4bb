// The int8 and int4 matrix product in plain loops.
#include "kernels/scalar/quantized.h"

#include <algorithm>
#include <cmath>

#include "kernels/quantized_matrix.h"
#include "kernels/quantized_rows.h"

namespace cascade::scalar {

void quantize_row(const float* x, int k, uint8_t* data, int rows, int index) {
  const QuantizedRow row = quantized_row(data, rows, index, k);
  for (int g = 0; g < row_groups(k); ++g) {
    const int begin = g * kGroup, end = std::min(k, begin + kGroup);
    float largest = 0;
    for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(x[i]));
    const bool zero = !(largest > kQuantizedMin);
    const float inverse = zero ? 0.0f : 127.0f / largest;
    row.scale[g * row.lanes] = zero ? 0.0f : largest / 127.0f;
    int sums[kGroup / kSubgroup] = {};
    for (int i = begin; i < begin + kGroup; ++i) {
      const float scaled = i < end ? x[i] * inverse : 0.0f;
      // A NaN counts as the least.
      const float low = scaled > -127.0f ? scaled : -127.0f;
      const auto q = static_cast<int8_t>(std::nearbyint(low < 127.0f ? low : 127.0f));
      row.q[i / 4 * 4 * row.lanes + i % 4] = q;
      sums[(i - begin) / kSubgroup] += q;
    }
    row.bias128[g * row.lanes] = -128 * (sums[0] + sums[1] + sums[2] + sums[3]);
    for (int s = 0; s < kGroup / kSubgroup; ++s) row.bias8[(g * 4 + s) * row.lanes] = -8 * sums[s];
  }
}

void quantized_gemm(const QuantizedGemmArgs& args) {
  const PackedMatrix& w = *args.w;
  for (int panel = args.panel_begin; panel < args.panel_end; ++panel) {
    for (int r = 0; r < args.rows; ++r) {
      const QuantizedRow x = quantized_row(args.x, args.rows, r, w.k);
      for (int lane = 0; lane < kPanelChannels; ++lane) {
        float sum = 0;
        for (int begin = 0, i = 0; begin < w.groups() * kGroup; begin += w.scale_span(), ++i) {
          int dot = 0;
          for (int k = begin; k < begin + w.scale_span(); ++k) {
            dot += x.q[k / 4 * 4 * x.lanes + k % 4] * (quantized_weight(w, panel, lane, k) - 128);
          }
          const float scale = x.scale[begin / kGroup * x.lanes] * weight_scale(w, panel, lane, i);
          sum = std::fmaf(static_cast<float>(dot), scale, sum);
        }
        args.y[r * args.y_stride + size_t(panel) * kPanelChannels + lane] = sum;
      }
    }
  }
}

}  // namespace cascade::scalar
