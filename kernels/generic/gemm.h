// Matrix product over packed panels, for any vector type V16 (avx2/v16.h, avx512/v16.h).
//
// Each output element is one fma chain over k ascending from +0. Register tiles only choose which
// elements are computed together, so any tile gives the same bits.
#pragma once

#include "kernels/generic/blocks.h"
#include "kernels/kernels.h"

namespace cascade::generic {

// Rows and panels of one register tile, chosen per instruction set so that accumulators, weights
// and one broadcast fit the registers. Few rows take more panels: one row needs several chains to
// hide the latency of fma.
template <class V>
struct GemmShape {
  static constexpr int kRows = V::kGemmRows;
  static constexpr int kPanels = V::kGemmPanels;
  static constexpr int kFewRows = V::kGemmFewRows;
  static constexpr int kFewPanels = V::kGemmFewPanels;
};

template <class V, int kRows, int kPanels>
[[gnu::always_inline]] inline void gemm_tile_f32(const float* w, const GemmArgs& args, int row,
                                                 int panel) {
  const int k = args.w->k;
  const size_t panel_floats = static_cast<size_t>(k) * kPanelChannels;
  const float* x = args.x + row * args.x_stride;
  V sum[kRows][kPanels];
  for (auto& sums : sum) {
    for (V& s : sums) s = V::zero();
  }
  for (int i = 0; i < k; ++i) {
    V weight[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const float* from = w + p * panel_floats + static_cast<size_t>(i) * kPanelChannels;
      weight[p] = V::load(from);
      prefetch_weights(from);
    }
    for (int r = 0; r < kRows; ++r) {
      const V input = V::set1(x[r * args.x_stride + i]);
      for (int p = 0; p < kPanels; ++p) sum[r][p] = V::fma(input, weight[p], sum[r][p]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = args.y + (row + r) * args.y_stride + static_cast<size_t>(panel) * kPanelChannels;
    for (int p = 0; p < kPanels; ++p) sum[r][p].store(y + p * kPanelChannels);
  }
}

template <class V, int kRows, int kPanels>
[[gnu::always_inline]] inline void gemm_tile_bf16(const uint16_t* w, const GemmArgs& args, int row,
                                                  int panel) {
  const int k = args.w->k;
  const size_t panel_elements = static_cast<size_t>(k) * kPanelChannels;
  const float* x = args.x + row * args.x_stride;
  V sum[kRows][kPanels];
  for (auto& sums : sum) {
    for (V& s : sums) s = V::zero();
  }
  for (int i = 0; i < k; i += 2) {
    V even[kPanels], odd[kPanels];
    for (int p = 0; p < kPanels; ++p) {
      const uint16_t* from = w + p * panel_elements + static_cast<size_t>(i) * kPanelChannels;
      V::load_bf16_pairs(from, even[p], odd[p]);
      prefetch_weights(from);
    }
    for (int r = 0; r < kRows; ++r) {
      const V first = V::set1(x[r * args.x_stride + i]);
      for (int p = 0; p < kPanels; ++p) sum[r][p] = V::fma(first, even[p], sum[r][p]);
    }
    for (int r = 0; r < kRows; ++r) {
      const V second = V::set1(x[r * args.x_stride + i + 1]);
      for (int p = 0; p < kPanels; ++p) sum[r][p] = V::fma(second, odd[p], sum[r][p]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    float* y = args.y + (row + r) * args.y_stride + static_cast<size_t>(panel) * kPanelChannels;
    for (int p = 0; p < kPanels; ++p) sum[r][p].store(y + p * kPanelChannels);
  }
}

template <class V, int kRows, int kPanels>
inline void gemm_tile(const GemmArgs& args, int row, int panel) {
  const size_t offset = static_cast<size_t>(panel) * args.w->k * kPanelChannels;
  const uint8_t* data = args.w->data;
  if (args.w->type == WeightType::kF32) {
    gemm_tile_f32<V, kRows, kPanels>(reinterpret_cast<const float*>(data) + offset, args, row,
                                     panel);
  } else {
    gemm_tile_bf16<V, kRows, kPanels>(reinterpret_cast<const uint16_t*>(data) + offset, args, row,
                                      panel);
  }
}

template <class V, int kRowsMax, int kPanelsMax>
inline void gemm_rows(const GemmArgs& args, int row_begin, int row_end) {
  const auto panels = [&]<int kPanels>(int panel_offset) {
    const int panel = args.panel_begin + panel_offset;
    const auto rows = [&]<int kRows>(int row) {
      gemm_tile<V, kRows, kPanels>(args, row_begin + row, panel);
    };
    for_blocks<kRowsMax>(row_end - row_begin, rows);
  };
  for_blocks<kPanelsMax>(args.panel_end - args.panel_begin, panels);
}

template <class V>
inline void gemm(const GemmArgs& args) {
  using Shape = GemmShape<V>;
  if (args.rows <= Shape::kFewRows) {
    gemm_rows<V, Shape::kFewRows, Shape::kFewPanels>(args, 0, args.rows);
    return;
  }
  // The number of rows that share one pass over a panel: with k = 1,024 these inputs take 384 KiB,
  // so they stay in the second-level cache while the panels stream by.
  constexpr int kRowsPerPass = 96;
  for (int row = 0; row < args.rows; row += kRowsPerPass) {
    const int end = row + kRowsPerPass < args.rows ? row + kRowsPerPass : args.rows;
    gemm_rows<V, Shape::kRows, Shape::kPanels>(args, row, end);
  }
}

}  // namespace cascade::generic
