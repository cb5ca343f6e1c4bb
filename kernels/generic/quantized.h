// The product of quantised matrices for any vector type V16 and dot product D (avx2/i16.h,
// avx512/i16.h, avx512vnni/vnni_dot.h). Integer sums are exact, so they give the same bits in any
// order; the chain of floats over the groups is the one of the specification.
#pragma once

#include "kernels/generic/blocks.h"
#include "kernels/generic/elementwise.h"
#include "kernels/generic/panel_source.h"
#include "kernels/generic/records.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows.h"
#include "kernels/record_format.h"

namespace cascade::generic {

template <class V, class D, bool kForKQuants>
inline void quantize_row_for(const QuantizeRowArgs& args) {
  using I = typename D::Int;
  const float* x = args.x;
  const int k = args.k;
  const QuantizedRow row = quantized_row(args.data, args.rows, args.index, k);
  const V low = V::set1(-127.0f), high = V::set1(127.0f);
  for (int g = args.group_begin; g < args.group_end; ++g) {
    const int count = k - g * kGroup < kGroup ? k - g * kGroup : kGroup;
    V values[kGroup / 16];
    V largest_lanes = V::zero();
    for (int j = 0; j < kGroup / 16; ++j) {
      const int left = count - 16 * j;
      values[j] = left >= 16 ? V::load(x + g * kGroup + 16 * j)
                  : left > 0 ? V::load_partial(x + g * kGroup + 16 * j, left)
                             : V::zero();
      largest_lanes = V::max(values[j].magnitude(), largest_lanes);
    }
    const float largest = largest_lanes.largest();
    const bool zero = !(largest > kQuantizedMin);
    const V inverse = V::set1(zero ? 0.0f : 127.0f / largest);
    row.scale[g * row.lanes] = zero ? 0.0f : largest / 127.0f;
    int total = 0;
    static_assert(kRowSubgroup == 16);
    for (int s = 0; s < kGroup / kSubgroup; ++s) {
      I sums = I::zero();
      for (int j = 2 * s; j < 2 * s + 2; ++j) {
        const I whole = I::rounded(V::min(V::max(values[j] * inverse, low), high));
        int8_t bytes[16];
        whole.store_int8(bytes);
        for (int i = 0; i < 4; ++i) {
          __builtin_memcpy(row.q + (g * 32 + j * 4 + i) * 4 * row.lanes, bytes + 4 * i, 4);
        }
        if constexpr (kForKQuants) row.bias32[(g * 8 + j) * row.lanes] = -32 * whole.sum();
        sums = sums + whole;
      }
      const int sum = sums.sum();
      row.bias8[(g * 4 + s) * row.lanes] = -8 * sum;
      if constexpr (kForKQuants) row.minus[(g * 4 + s) * row.lanes] = static_cast<float>(-sum);
      total += sum;
    }
    row.bias128[g * row.lanes] = -128 * total;
  }
}

template <class V, class D>
inline void quantize_row(const QuantizeRowArgs& args) {
  return args.k_quants ? quantize_row_for<V, D, true>(args) : quantize_row_for<V, D, false>(args);
}

// Adds kSteps * 4 products to each sum of kRows rows and kPanels int8 panels, `stride` bytes apart.
// `from` is the first weight of the first panel, `four` the first value of the first row.
template <class D, int kLanes, int kSteps, int kRows, int kPanels>
[[gnu::always_inline]] inline void int8_steps(const uint8_t* from, size_t stride,
                                              const int8_t* four,
                                              typename D::Int (&sum)[kRows][kPanels]) {
  for (int step = 0; step < kSteps; ++step) {
    typename D::Weights w[kPanels];
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      w[p] = D::load_weights(from + p * stride);
      prefetch_weights(from + p * stride);
    });
    unroll<kRows * kPanels>([&](auto i) CASCADE_INLINE {
      constexpr int r = i / kPanels, p = i % kPanels;
      if constexpr (kPanels == 1) {
        sum[r][p] = D::dot_once(sum[r][p], w[p], four + 4 * r);
      } else {
        sum[r][p] = D::dot(sum[r][p], w[p], four + 4 * r);
      }
    });
    from += 64;
    four += 4 * kLanes;
  }
}

// The sums of one group. The first row is x, in a block of kLanes rows.
template <class D, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void int8_group(const uint8_t* weights, size_t stride,
                                              const QuantizedRow& x, int group,
                                              typename D::Int (&sum)[kRows][kPanels]) {
  using I = typename D::Int;
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const I start = D::kBiased ? I::set1(x.bias128[group * kLanes + r]) : I::zero();
    unroll<kPanels>([&](auto p) CASCADE_INLINE { sum[r][p] = start; });
  });
  int8_steps<D, kLanes, kGroup / 4>(weights + static_cast<size_t>(group) * kGroup * kPanelChannels,
                                    stride, x.q + static_cast<size_t>(group) * kGroup * kLanes,
                                    sum);
}

// The same for one block of 32 weights, number `block`.
template <class D, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void int8_block(const uint8_t* weights, size_t stride,
                                              const QuantizedRow& x, int block,
                                              typename D::Int (&sum)[kRows][kPanels]) {
  using I = typename D::Int;
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const I start = D::kBiased ? I::set1(x.bias8[block * kLanes + r]).times_16() : I::zero();
    unroll<kPanels>([&](auto p) CASCADE_INLINE { sum[r][p] = start; });
  });
  int8_steps<D, kLanes, kBlock / 4>(weights + static_cast<size_t>(block) * kBlock * kPanelChannels,
                                    stride, x.q + static_cast<size_t>(block) * kBlock * kLanes,
                                    sum);
}

// The same for int4 panels, without multipliers.
template <class D, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void int4_block(const uint8_t* weights, size_t stride,
                                              const QuantizedRow& x, int block,
                                              typename D::Int (&sum)[kRows][kPanels]) {
  using I = typename D::Int;
  const uint8_t* from = weights + static_cast<size_t>(block) * kBlock * kPanelChannels / 2;
  const int8_t* eight = x.q + static_cast<size_t>(block) * kBlock * kLanes;
  I high_sum[kRows][kPanels];
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const I start = I::set1(x.bias8[block * kLanes + r]);
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      sum[r][p] = start;
      high_sum[r][p] = I::zero();
    });
  });
  unroll<kBlock / 8>([&](auto pair) CASCADE_INLINE {
    typename D::Bytes low[kPanels], high[kPanels];
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      D::load_nibbles(from + pair * 64 + p * stride, low[p], high[p]);
      prefetch_weights(from + pair * 64 + p * stride);
    });
    const int8_t* x8 = eight + pair * 8 * kLanes;
    unroll<kRows * kPanels>([&](auto i) CASCADE_INLINE {
      constexpr int r = i / kPanels, p = i % kPanels;
      sum[r][p] = D::dot_nibbles(sum[r][p], low[p], x8 + 4 * r);
      I& into = D::kHighShift > 0 ? high_sum[r][p] : sum[r][p];
      into = D::dot_nibbles(into, high[p], x8 + 4 * (kLanes + r));
    });
  });
  if constexpr (D::kHighShift > 0) {
    unroll<kRows * kPanels>([&](auto i) CASCADE_INLINE {
      constexpr int r = i / kPanels, p = i % kPanels;
      sum[r][p] = sum[r][p] + high_sum[r][p].shifted_right(D::kHighShift);
    });
  }
}

// The sums of one group of int4 panels.
template <class D, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void int4_group(const uint8_t* weights, size_t stride,
                                              size_t multipliers, const QuantizedRow& x, int group,
                                              typename D::Int (&sum)[kRows][kPanels]) {
  using I = typename D::Int;
  static_assert(kSubgroup == kBlock);
  unroll<kRows * kPanels>([&](auto i)
                              CASCADE_INLINE { sum[i / kPanels][i % kPanels] = I::zero(); });
  const uint8_t* factors = weights + multipliers + group * 2 * kPanelChannels;
  for (int s = 0; s < kGroup / kSubgroup; ++s) {
    I part[kRows][kPanels];
    int4_block<D, kLanes>(weights, stride, x, group * (kGroup / kSubgroup) + s, part);
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      const I m = I::load_half_bytes(factors + p * stride + s / 2 * kPanelChannels, s % 2);
      unroll<kRows>([&](auto r) CASCADE_INLINE { sum[r][p] = sum[r][p] + part[r][p] * m; });
    });
  }
}

[[gnu::always_inline]] inline constexpr bool is_int4(Coding coding) {
  return coding.type == WeightType::kInt4;
}

template <class V, bool kF16>
[[gnu::always_inline]] inline V weight_scales(const PanelSource& source, int panel, int index) {
  const auto* scales =
      reinterpret_cast<const uint16_t*>(source.scales + panel * source.scales_stride) +
      index * kPanelChannels;
  return kF16 ? V::load_f16(scales) : V::load_bf16(scales);
}

// Adds one group to the totals.
template <class V, class D, Coding kCoding, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void add_group(const PanelSource& source, const QuantizedRow& x,
                                             int group, V (&total)[kRows][kPanels]) {
  typename D::Int sum[kRows][kPanels];
  if constexpr (is_int4(kCoding)) {
    int4_group<D, kLanes>(source.weights, source.weights_stride, source.multipliers_offset, x,
                          group, sum);
  } else {
    int8_group<D, kLanes>(source.weights, source.weights_stride, x, group, sum);
  }
  unroll<kPanels>([&](auto p) CASCADE_INLINE {
    const V w_scale = weight_scales<V, false>(source, p, group);
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      const V scale = V::set1(x.scale[group * kLanes + r]) * w_scale;
      total[r][p] = V::fma(sum[r][p].to_float(), scale, total[r][p]);
    });
  });
}

// Adds one group of blocks to the totals. The rows' scale, which is the same for the whole group,
// is multiplied last.
template <class V, class D, Coding kCoding, int kLanes, int kRows, int kPanels>
[[gnu::always_inline]] inline void add_blocks(const PanelSource& source, const QuantizedRow& x,
                                              int group, V (&total)[kRows][kPanels]) {
  // Prefetches the next panels' scales in parts, one for each group: prefetching all of them at
  // once, at the beginning of a panel, would keep the core from its weights.
  constexpr size_t kScalesBytes = kGroup / kBlock * kPanelChannels * sizeof(uint16_t);
  if constexpr (kLanes != kRowBlock) {
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      const size_t ahead = source.to_next + group * kScalesBytes;
      prefetch_bytes(source.scales + p * source.scales_stride + ahead, kScalesBytes);
      prefetch_bytes(source.weights + p * source.weights_stride + ahead + source.gap, kScalesBytes);
    });
  }
  V part[kRows][kPanels];
  unroll<kGroup / kBlock>([&](auto i) CASCADE_INLINE {
    const int block = group * (kGroup / kBlock) + i;
    typename D::Int sum[kRows][kPanels];
    if constexpr (is_int4(kCoding)) {
      int4_block<D, kLanes>(source.weights, source.weights_stride, x, block, sum);
    } else {
      int8_block<D, kLanes>(source.weights, source.weights_stride, x, block, sum);
    }
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      const V w_scale = weight_scales<V, true>(source, p, block);
      unroll<kRows>([&](auto r) CASCADE_INLINE {
        const V dot = sum[r][p].to_float();
        // This equals a chain from 0, except for a possible -0. The totals do not show this
        // difference, since they begin at +0.
        if constexpr (i == 0) {
          part[r][p] = dot * w_scale;
        } else {
          part[r][p] = V::fma(dot, w_scale, part[r][p]);
        }
      });
    });
  });
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const V x_scale = V::set1(x.scale[group * kLanes + r]);
    unroll<kPanels>([&](auto p)
                        CASCADE_INLINE { total[r][p] = V::fma(part[r][p], x_scale, total[r][p]); });
  });
}

template <class V, class D, Coding kCoding, int kLanes, int kRows, int kPanels>
inline void quantized_tile(const QuantizedGemmArgs& args, const PanelSource& source, int row,
                           int panel) {
  const QuantizedRow x = quantized_row(args.x, args.rows, row, args.w->k);
  V total[kRows][kPanels];
  unroll<kRows * kPanels>([&](auto i)
                              CASCADE_INLINE { total[i / kPanels][i % kPanels] = V::zero(); });
  for (int g = 0; g < args.w->groups(); ++g) {
    if constexpr (has_records(kCoding.type)) {
      add_record<V, D, kCoding, kLanes>(source, x, g, total);
    } else if constexpr (kCoding.blocks) {
      add_blocks<V, D, kCoding, kLanes>(source, x, g, total);
    } else {
      add_group<V, D, kCoding, kLanes>(source, x, g, total);
    }
  }
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    float* y = args.y + (row + r) * args.y_stride + static_cast<size_t>(panel) * kPanelChannels;
    unroll<kPanels>([&](auto p) CASCADE_INLINE {
      total[r][p].store(y + p * source.panel_step * kPanelChannels);
    });
  });
}

// Expands the weights of an int4 panel to those of an int8 panel (the scales are the same), or a
// panel of records.
template <class V, class D, WeightType kType>
inline void expand_panel(const PackedMatrix& w, int panel, uint8_t* out) {
  if constexpr (has_records(kType)) return expand_records<V, D, kType>(w, panel, out);
  const uint8_t* from = w.panel(panel);
  const uint8_t* multipliers = from + w.multipliers_offset();
  for (int s = 0; s < w.groups() * (kGroup / kSubgroup); ++s) {
    const auto m = w.block_scales
                       ? D::Int::set1(1)
                       : D::Int::load_half_bytes(multipliers + s / 2 * kPanelChannels, s % 2);
    for (int pair = 0; pair < kSubgroup / 8; ++pair) {
      const size_t at = static_cast<size_t>(s) * 4 + pair;
      prefetch_weights(from + at * 64);
      D::Int::expand_nibbles(from + at * 64, m, out + at * 128);
    }
  }
}

// The bytes of the values of the rows that share one pass over a panel: they stay in the
// second-level cache, beside the panels that stream by.
constexpr size_t kPassBytes = 323 << 10;

// Multiplies all rows by panels [first, last), whose weights and scales are at `source`.
template <class V, class D, Coding kCoding>
inline void many_rows_of_panels(const QuantizedGemmArgs& args, const PanelSource& source, int first,
                                int last) {
  // Groups with several scales need registers for the sums with one scale and for the totals that
  // these are added to.
  constexpr bool kSeveral = kCoding.blocks || has_records(kCoding.type);
  constexpr int kRows = kSeveral ? D::kGemmBlocksRows : D::kGemmRows;
  constexpr int kPanels = D::kGemmPanels;
  static_assert(kRowBlock % kRows == 0);
  const size_t block_bytes = static_cast<size_t>(args.w->groups()) * kGroup * kRowBlock;
  const int blocks = static_cast<int>(kPassBytes / block_bytes);
  const int rows_per_pass = kRowBlock * (blocks < 2 ? 2 : blocks);
  for (int begin = 0; begin < args.rows; begin += rows_per_pass) {
    const int end = begin + rows_per_pass < args.rows ? begin + rows_per_pass : args.rows;
    const auto panels = [&]<int kCount>(int offset) {
      PanelSource from = source;
      from.weights += offset * source.weights_stride;
      from.scales += offset * source.scales_stride;
      const auto rows = [&]<int kRowCount>(int row) {
        quantized_tile<V, D, kCoding, kRowBlock, kRowCount, kCount>(args, from, begin + row,
                                                                    first + offset);
      };
      for_blocks<kRows>(end - begin, rows);
    };
    for_blocks<kPanels>(last - first, panels);
  }
}

template <class V, class D, Coding kCoding>
inline void many_rows(const QuantizedGemmArgs& args) {
  const PackedMatrix& w = *args.w;
  constexpr bool kHasRecords = has_records(kCoding.type);
  const auto scales = [&](int panel) {
    return kHasRecords ? nullptr : w.panel(panel) + w.scales_offset();
  };
  if constexpr (kCoding.type == WeightType::kInt8) {
    const int first = args.panel_begin;
    const PanelSource source = {w.panel(first), w.panel_bytes(), scales(first), w.panel_bytes()};
    return many_rows_of_panels<V, D, kCoding>(args, source, first, args.panel_end);
  }
  constexpr Coding kExpanded = {kHasRecords ? kCoding.type : WeightType::kInt8, kCoding.blocks,
                                kHasRecords};
  const int step = expanded_panels(w.k);
  const size_t expanded = static_cast<size_t>(w.groups()) *
                          (kHasRecords ? kExpandedGroupBytes : kGroup * kPanelChannels);
  for (int first = args.panel_begin; first < args.panel_end; first += step) {
    const int last = first + step < args.panel_end ? first + step : args.panel_end;
    for (int panel = first; panel < last; ++panel) {
      expand_panel<V, D, kCoding.type>(w, panel, args.scratch + (panel - first) * expanded);
    }
    const PanelSource source = {args.scratch, expanded, scales(first), w.panel_bytes()};
    many_rows_of_panels<V, D, kExpanded>(args, source, first, last);
  }
}

// Where a tile of few rows reads `count` panels from `panel` on. Prefetches what the tile does not.
template <Coding kCoding>
[[gnu::always_inline]] inline PanelSource few_rows_source(const PackedMatrix& w, int panel,
                                                          int count) {
  const uint8_t* first = w.panel(panel);
  const size_t bytes = w.panel_bytes();
  if constexpr (has_records(kCoding.type)) return {first, bytes, nullptr, 0};
  const size_t weights_bytes = is_int4(kCoding) ? w.multipliers_offset() : w.scales_offset();
  const size_t factors_bytes = bytes - weights_bytes;
  const size_t gap_bytes = factors_bytes < kAheadBytes ? factors_bytes : kAheadBytes;
  for (int p = panel; !kCoding.blocks && p < panel + count; ++p) {
    // Nothing was prefetched while the previous panel's factors were read. So the same number of
    // bytes of this panel is still missing: prefetch them here.
    prefetch_bytes(w.panel(p) + kAheadBytes - gap_bytes, gap_bytes);
    // The factors of the next panels are needed as soon as those panels begin.
    prefetch_bytes(w.panel(p + count) + weights_bytes, factors_bytes);
  }
  return {first,
          bytes,
          first + w.scales_offset(),
          bytes,
          1,
          w.multipliers_offset(),
          count * bytes,
          kAheadBytes - gap_bytes};
}

// Multiplies one row by a matrix of records. Reads two halves of the panels side by side: a core
// reads two streams faster than one (q4k 8 to 13 %, q5k 15 to 21 %, q6k 23 to 31 %). The streams
// must be far apart: neighbouring panels brought q4k nothing.
template <class V, class D, Coding kCoding>
inline void two_streams(const QuantizedGemmArgs& args) {
  const PackedMatrix& w = *args.w;
  const size_t bytes = w.panel_bytes();
  const int panels = args.panel_end - args.panel_begin, half = panels / 2;
  for (int panel = args.panel_begin; panel < args.panel_begin + half; ++panel) {
    const PanelSource both = {w.panel(panel), half * bytes, nullptr, 0, half};
    quantized_tile<V, D, kCoding, 1, 1, 2>(args, both, 0, panel);
  }
  if (panels % 2 != 0) {
    const int last = args.panel_end - 1;
    const PanelSource one = {w.panel(last), bytes, nullptr, 0};
    quantized_tile<V, D, kCoding, 1, 1, 1>(args, one, 0, last);
  }
}

// Multiplies at most kFewRows rows, in blocks of kLanes.
template <class V, class D, Coding kCoding, int kLanes>
inline void few_rows(const QuantizedGemmArgs& args) {
  if constexpr (kLanes == 1 && has_records(kCoding.type) && D::kTwoStreams) {
    return two_streams<V, D, kCoding>(args);
  }
  const auto panels = [&]<int kCount>(int offset) {
    const int panel = args.panel_begin + offset;
    const PanelSource source = few_rows_source<kCoding>(*args.w, panel, kCount);
    const auto rows = [&]<int kRowCount>(int row) {
      quantized_tile<V, D, kCoding, kLanes, kRowCount, kCount>(args, source, row, panel);
    };
    constexpr int kTileRows = kLanes < D::kGemmFewRows ? kLanes : D::kGemmFewRows;
    static_assert(kLanes % kTileRows == 0);
    for_blocks<kTileRows>(args.rows, rows);
  };
  // A single row of int8 and int4 is fastest with a single stream.
  constexpr int kPanels = kLanes == 1 ? 1 : D::kGemmFewPanels;
  for_blocks<kPanels>(args.panel_end - args.panel_begin, panels);
}

template <class V, class D, Coding kCoding>
inline void coded_gemm(const QuantizedGemmArgs& args) {
  static_assert(row_lanes(1) == 1 && row_lanes(2) == 4 && row_lanes(4) == 4);
  static_assert(row_lanes(5) == kFewRowsBlock && row_lanes(kFewRows) == kFewRowsBlock);
  if (args.rows > kFewRows) return many_rows<V, D, kCoding>(args);
  if (args.rows == 1) return few_rows<V, D, kCoding, 1>(args);
  if (args.rows <= 4) return few_rows<V, D, kCoding, 4>(args);
  few_rows<V, D, kCoding, kFewRowsBlock>(args);
}

template <class V, class D>
inline void quantized_gemm(const QuantizedGemmArgs& args) {
  const bool blocks = args.w->block_scales;
  switch (args.w->type) {
    case WeightType::kInt8:
      return blocks ? coded_gemm<V, D, Coding{WeightType::kInt8, true}>(args)
                    : coded_gemm<V, D, Coding{WeightType::kInt8}>(args);
    case WeightType::kInt4:
      return blocks ? coded_gemm<V, D, Coding{WeightType::kInt4, true}>(args)
                    : coded_gemm<V, D, Coding{WeightType::kInt4}>(args);
    case WeightType::kQ4K: return coded_gemm<V, D, Coding{WeightType::kQ4K}>(args);
    case WeightType::kQ5K: return coded_gemm<V, D, Coding{WeightType::kQ5K}>(args);
    case WeightType::kQ6K: return coded_gemm<V, D, Coding{WeightType::kQ6K}>(args);
    case WeightType::kMxfp4: return coded_gemm<V, D, Coding{WeightType::kMxfp4}>(args);
    case WeightType::kF32:
    case WeightType::kBf16: break;  // multiplied by gemm
  }
}

}  // namespace cascade::generic
