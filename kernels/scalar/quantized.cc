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
      // A NaN counts as the smallest value.
      const float low = scaled > -127.0f ? scaled : -127.0f;
      const auto q = static_cast<int8_t>(std::nearbyint(low < 127.0f ? low : 127.0f));
      row.q[i / 4 * 4 * row.lanes + i % 4] = q;
      sums[(i - begin) / kSubgroup] += q;
    }
    row.bias128[g * row.lanes] = -128 * (sums[0] + sums[1] + sums[2] + sums[3]);
    for (int s = 0; s < kGroup / kSubgroup; ++s) row.bias8[(g * 4 + s) * row.lanes] = -8 * sums[s];
  }
}

namespace {

// The sum of the products of weights and values [begin, end) of a row.
float dot(const PackedMatrix& w, int panel, int lane, const QuantizedRow& x, int begin, int end) {
  int sum = 0;
  for (int k = begin; k < end; ++k) {
    sum += x.q[k / 4 * 4 * x.lanes + k % 4] * (quantized_weight(w, panel, lane, k) - 128);
  }
  return static_cast<float>(sum);
}

float add_group(const PackedMatrix& w, int panel, int lane, const QuantizedRow& x, int group,
                float total) {
  const float x_scale = x.scale[group * x.lanes];
  const int begin = group * kGroup;
  if (!w.block_scales) {
    const float scale = x_scale * weight_scale(w, panel, lane, group);
    return std::fmaf(dot(w, panel, lane, x, begin, begin + kGroup), scale, total);
  }
  float part = 0;
  for (int k = begin; k < begin + kGroup; k += kBlock) {
    const float scale = weight_scale(w, panel, lane, k / kBlock);
    part = std::fmaf(dot(w, panel, lane, x, k, k + kBlock), scale, part);
  }
  return std::fmaf(part, x_scale, total);
}

}  // namespace

void quantized_gemm(const QuantizedGemmArgs& args) {
  const PackedMatrix& w = *args.w;
  for (int panel = args.panel_begin; panel < args.panel_end; ++panel) {
    for (int r = 0; r < args.rows; ++r) {
      const QuantizedRow x = quantized_row(args.x, args.rows, r, w.k);
      for (int lane = 0; lane < kPanelChannels; ++lane) {
        float total = 0;
        for (int g = 0; g < w.groups(); ++g) total = add_group(w, panel, lane, x, g, total);
        args.y[r * args.y_stride + size_t(panel) * kPanelChannels + lane] = total;
      }
    }
  }
}

}  // namespace cascade::scalar
