// The product of quantised matrices in plain loops.
#include "kernels/scalar/quantized.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/k_quant_matrix.h"
#include "kernels/mxfp4_matrix.h"
#include "kernels/quantized_matrix.h"
#include "kernels/quantized_rows.h"

namespace cascade::scalar {

void quantize_row(const QuantizeRowArgs& args) {
  const float* x = args.x;
  const QuantizedRow row = quantized_row(args.data, args.rows, args.index, args.k);
  for (int g = args.group_begin; g < args.group_end; ++g) {
    const int begin = g * kGroup, end = std::min(args.k, begin + kGroup);
    float largest = 0;
    for (int i = begin; i < end; ++i) largest = std::max(largest, std::fabs(x[i]));
    const bool zero = !(largest > kQuantizedMin);
    const float inverse = zero ? 0.0f : 127.0f / largest;
    row.scale[g * row.lanes] = zero ? 0.0f : largest / 127.0f;
    int sums[kGroup / kRowSubgroup] = {};
    for (int i = begin; i < begin + kGroup; ++i) {
      const float scaled = i < end ? x[i] * inverse : 0.0f;
      // A NaN counts as the smallest value.
      const float low = scaled > -127.0f ? scaled : -127.0f;
      const auto q = static_cast<int8_t>(std::nearbyint(low < 127.0f ? low : 127.0f));
      row.q[i / 4 * 4 * row.lanes + i % 4] = q;
      sums[(i - begin) / kRowSubgroup] += q;
    }
    row.bias128[g * row.lanes] = -128 * std::accumulate(std::begin(sums), std::end(sums), 0);
    for (int s = 0; s < 4; ++s) {
      const int sum = sums[2 * s] + sums[2 * s + 1];
      row.bias8[(g * 4 + s) * row.lanes] = -8 * sum;
      if (args.k_quants) row.minus[(g * 4 + s) * row.lanes] = static_cast<float>(-sum);
    }
    for (int s = 0; s < 8 && args.k_quants; ++s) {
      row.bias32[(g * 8 + s) * row.lanes] = -32 * sums[s];
    }
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

float add_k_quant_group(const PackedMatrix& w, int panel, int lane, const QuantizedRow& x,
                        int group, float total) {
  const RecordFormat format = record_format(w.type);
  const KQuantGroup weights = k_quant_group(w, panel, lane, group);
  const int zero = format.offsets ? 0 : 1 << (format.bits - 1);
  int row_sums[8] = {};  // of x, over the weights with one scale
  float part = 0;
  for (int s = 0; s < format.subgroups(); ++s) {
    int sum = 0;
    for (int i = s * format.subgroup; i < (s + 1) * format.subgroup; ++i) {
      const int k = group * kGroup + i;
      const int xq = x.q[k / 4 * 4 * x.lanes + k % 4];
      sum += xq * (weights.q[i] - zero);
      row_sums[s] += xq;
    }
    const float scale = f16_to_f32(weights.unit) * static_cast<float>(weights.scales[s]);
    part = std::fmaf(static_cast<float>(sum), scale, part);
  }
  for (int s = 0; s < format.subgroups() && format.offsets; ++s) {
    const float offset = f16_to_f32(weights.offset_unit) * static_cast<float>(weights.offsets[s]);
    part = std::fmaf(-static_cast<float>(row_sums[s]), offset, part);
  }
  return std::fmaf(part, x.scale[group * x.lanes], total);
}

float add_mxfp4_group(const PackedMatrix& w, int panel, int lane, const QuantizedRow& x, int group,
                      float total) {
  float part = 0;
  for (int s = 0; s < kGroup / kBlock; ++s) {
    const int block = group * (kGroup / kBlock) + s;
    const Mxfp4Block weights = mxfp4_block(w, panel, lane, block);
    int sum = 0;  // twice that of the products
    for (int i = 0; i < kBlock; ++i) {
      const int k = block * kBlock + i;
      sum += x.q[k / 4 * 4 * x.lanes + k % 4] * kTwiceE2m1[weights.codes[i]];
    }
    part = std::fmaf(static_cast<float>(sum), half_of_e8m0(weights.scale), part);
  }
  return std::fmaf(part, x.scale[group * x.lanes], total);
}

}  // namespace

void quantized_gemm(const QuantizedGemmArgs& args) {
  const PackedMatrix& w = *args.w;
  const auto add = is_k_quant(w.type)               ? add_k_quant_group
                   : w.type == WeightType::kMxfp4 ? add_mxfp4_group
                                                    : add_group;
  for (int panel = args.panel_begin; panel < args.panel_end; ++panel) {
    for (int r = 0; r < args.rows; ++r) {
      const QuantizedRow x = quantized_row(args.x, args.rows, r, w.k);
      for (int lane = 0; lane < kPanelChannels; ++lane) {
        float total = 0;
        for (int g = 0; g < w.groups(); ++g) {
          total = add(w, panel, lane, x, g, total);
        }
        args.y[r * args.y_stride + size_t(panel) * kPanelChannels + lane] = total;
      }
    }
  }
}

}  // namespace cascade::scalar
