// Attention over pages for any vector type V16 and dot product D; scalar/attention.cc is the
// specification. A tile of K and V is read once for all rows that share it.
#pragma once

#include <math.h>

#include "kernels/attention_totals.h"
#include "kernels/generic/attention_scratch.h"
#include "kernels/generic/attention_tile.h"
#include "kernels/generic/blocks.h"
#include "kernels/generic/elementwise.h"
#include "kernels/generic/query.h"
#include "kernels/kernels.h"
#include "kernels/kv_format.h"

namespace cascade::generic {

// The keys of tile `tile` that a row sees, as bits.
[[gnu::always_inline]] inline uint64_t visible_keys(const AttentionArgs& args, int row, int tile) {
  const int position = args.positions[row];
  if (tile > position / kTileKeys) return 0;
  if (args.chosen != nullptr && args.chosen[row] != nullptr) {
    if ((args.chosen[row][tile / 64] >> (tile % 64) & 1) == 0) return 0;
  }
  const auto below = [first = tile * kTileKeys](int key) {
    const int count = key - first;
    return count <= 0 ? 0 : count >= 64 ? ~uint64_t{0} : (uint64_t{1} << count) - 1;
  };
  const uint64_t past = below(position + 1);
  if (args.window == 0) return past;
  return past & (~below(position + 1 - args.window) | below(args.sinks));
}

// Turns the scores of a row against one tile, capped if asked, into exponentials, which are 0 for
// hidden keys. Also computes the tile's maximum and sum.
template <class V, KvType kType>
inline void exponentials_of_row(const AttentionArgs& args, const AttentionScratch& scratch, int row,
                                uint64_t visible, const TileScales& tile_scales) {
  float* scores = scratch.scores + row * kTileKeys;
  V x[4];
  const bool whole = visible == ~uint64_t{0};
  unroll<4>([&](auto j) CASCADE_INLINE {
    x[j] = V::load(scores + 16 * j);
    if (args.soft_cap > 0) {
      x[j] = soft_cap(x[j], V::set1(args.soft_cap), V::set1(2.0f / args.soft_cap));
    }
    if (!whole) x[j] = V::select(static_cast<uint16_t>(visible >> (16 * j)), x[j], -INFINITY);
  });
  const float largest = V::max(V::max(x[0], x[1]), V::max(x[2], x[3])).largest();
  const V max = V::set1(largest);
  V sum = V::zero();
  unroll<4>([&](auto j) CASCADE_INLINE {
    x[j] = exp_not_positive(x[j] - max);
    if (!whole) x[j] = V::select(static_cast<uint16_t>(visible >> (16 * j)), x[j], 0);
    sum = sum + x[j];
  });
  scratch.tile_max[row] = largest;
  scratch.tile_sum[row] = sum.sum();
  unroll<4>([&](auto j) CASCADE_INLINE {
    if constexpr (kType == KvType::kFp8) x[j] = x[j] * V::load(tile_scales.value + 16 * j);
    x[j].store(scores + 16 * j);
  });
}

// Merges the tile's maxima and sums into the rows' softmax, and stores the factors for the rows'
// values.
template <class V>
inline void merge_sums(const AttentionScratch& scratch, int begin, int end) {
  for (int row = begin; row < end; row += 16) {
    const int count = end - row < 16 ? end - row : 16;
    const auto load = [&](const float* from)
                          CASCADE_INLINE { return V::load_partial(from + row, count); };
    const V tile = load(scratch.tile_max), old = load(scratch.max);
    const V max = V::max(tile, old);
    const V old_factor = exp(old - max), new_factor = exp(tile - max);
    max.store_partial(scratch.max + row, count);
    old_factor.store_partial(scratch.old_factor + row, count);
    new_factor.store_partial(scratch.new_factor + row, count);
    V::fma(load(scratch.tile_sum), new_factor, load(scratch.sum) * old_factor)
        .store_partial(scratch.sum + row, count);
  }
}

// int8 values: turns the row's exponentials into u8 with one scale for the tile. Where the tile
// weighs much in the row's softmax, a second u8 holds what the first leaves over (AttentionArgs).
template <class V, class D>
inline void weights_of_row(const AttentionScratch& scratch, int row, uint64_t visible,
                           const TileScales& tile_scales) {
  using I = typename D::Int;
  const float* e = scratch.scores + row * kTileKeys;
  V weight[4];
  float value_max = tile_scales.value_max;
  if (visible == ~uint64_t{0}) {
    unroll<4>([&](auto j) CASCADE_INLINE { weight[j] = V::load(tile_scales.normalized + 16 * j); });
  } else {
    // The scales of hidden keys may be anything, and must have no effect.
    V scale_max = V::zero();
    unroll<4>([&](auto j) CASCADE_INLINE {
      const auto bits = static_cast<uint16_t>(visible >> (16 * j));
      weight[j] = V::select(bits, V::load(tile_scales.value + 16 * j), 0);
      scale_max = V::max(weight[j], scale_max);
    });
    value_max = scale_max.largest();
    const V inverse = V::set1(value_max > 0 ? 255.0f / value_max : 0.0f);
    unroll<4>([&](auto j) CASCADE_INLINE { weight[j] = weight[j] * inverse; });
  }
  const float new_factor = scratch.new_factor[row];
  const bool fine = new_factor * kFineTileShare > scratch.sum[row];
  scratch.fine[row] = fine;
  scratch.new_factor[row] = value_max / 255.0f * new_factor;
  uint8_t* high = scratch.probabilities + row * kTileKeys;
  uint8_t* low = scratch.remainders + row * kTileKeys;
  if (!fine) {
    unroll<4>([&](auto j) CASCADE_INLINE {
      I::rounded(V::load(e + 16 * j) * weight[j]).store_uint8(high + 16 * j);
      I::zero().store_uint8(low + 16 * j);
    });
    return;
  }
  unroll<4>([&](auto j) CASCADE_INLINE {
    const I whole = I::rounded(V::load(e + 16 * j) * weight[j] * V::set1(256.0f));
    whole.second_bytes().store_uint8(high + 16 * j);
    whole.first_bytes().store_uint8(low + 16 * j);
  });
}

// Adds the tile `page` to rows [begin, end), which share it and all see some of it. `next_page` is
// the page of the next tile, or null.
template <class V, class D, KvType kType>
inline void add_tile(const AttentionArgs& args, const AttentionScratch& scratch,
                     const uint8_t* page, const uint8_t* next_page, const uint64_t* visible,
                     int begin, int end) {
  constexpr bool kInt8 = kType == KvType::kInt8;
  using Shape = std::conditional_t<kInt8, D, V>;
  const uint8_t* keys = page + args.key_offset;
  const uint8_t* values = page + args.value_offset;
  // The first rows that read a block also prefetch the next block: pages lie far apart, where no
  // hardware prefetcher looks.
  const auto ahead = [&](int row, size_t offset) CASCADE_INLINE {
    return row == 0 && next_page != nullptr ? next_page + offset : nullptr;
  };
  TileScales scales;
  if constexpr (kv_has_scales(kType)) load_tile_scales<V>(args, keys, values, scales);
  const auto score_rows = [&]<int kRows>(int row) {
    const auto groups = [&]<int kGroups>(int group) {
      score_block<V, D, kType, kRows, kGroups>(args, scratch, keys, ahead(row, args.key_offset),
                                               scales, begin + row, group);
    };
    for_blocks<Shape::kAttentionColumns>(kTileKeys / 16, groups);
  };
  for_blocks<Shape::kAttentionRows>(end - begin, score_rows);

  bool all_whole = true;
  for (int row = begin; row < end; ++row) {
    all_whole = all_whole && visible[row] == ~uint64_t{0};
    exponentials_of_row<V, kType>(args, scratch, row, visible[row], scales);
  }
  merge_sums<V>(scratch, begin, end);
  if constexpr (kInt8) {
    for (int row = begin; row < end; ++row) {
      weights_of_row<V, D>(scratch, row, visible[row], scales);
    }
  }

  const int vectors = scratch.width / 16;
  // Integer products with 0 vanish, so int8 rows need no mask of the keys that they see.
  if (kInt8 || all_whole) {
    const auto rows = [&]<int kRows>(int row) {
      const auto columns = [&]<int kVectors>(int vector) {
        value_block<V, D, kType, kRows, kVectors>(scratch, values, ahead(row, args.value_offset),
                                                  ~uint64_t{0}, begin + row, vector);
      };
      for_blocks<Shape::kAttentionColumns>(vectors, columns);
    };
    for_blocks<Shape::kAttentionRows>(end - begin, rows);
    return;
  }
  for (int row = begin; row < end; ++row) {
    const auto columns = [&]<int kVectors>(int vector) {
      value_block<V, D, kType, 1, kVectors>(scratch, values, nullptr, visible[row], row, vector);
    };
    for_blocks<Shape::kAttentionColumns>(vectors, columns);
  }
}

// Adds one tile of the split to all rows that see it, and marks these rows in `seen`. `next_tile`
// is the tile that comes next, or a larger number than any.
template <class V, class D, KvType kType>
inline void add_split_tile(const AttentionArgs& args, const AttentionScratch& scratch, int tile,
                           int next_tile, int last_tile, bool* seen) {
  uint64_t visible[kAttentionRowsMax];
  for (int row = 0; row < args.rows; ++row) {
    visible[row] = visible_keys(args, row, tile);
  }
  for (int begin = 0; begin < args.rows;) {
    if (visible[begin] == 0) {
      ++begin;
      continue;
    }
    const uint8_t* page = args.pages[begin][tile];
    int end = begin;
    for (; end < args.rows && visible[end] != 0 && args.pages[end][tile] == page; ++end) {
      seen[end] = true;
    }
    const bool more = next_tile <= args.positions[begin] / kTileKeys && next_tile <= last_tile;
    const uint8_t* next_page = more ? args.pages[begin][next_tile] : nullptr;
    add_tile<V, D, kType>(args, scratch, page, next_page, visible, begin, end);
    begin = end;
  }
}

// Finds the tiles that some row may see. With a window, it skips those between the sinks and the
// first window. If all rows chose pages, it skips those that no row chose.
struct TileOrder {
  const AttentionArgs& args;
  int last_tile;
  int sink_tiles;
  int window_tile;
  bool some_dense;

  [[gnu::always_inline]] TileOrder(const AttentionArgs& of, int earliest, int last)
      : args(of), last_tile(last) {
    const int window_begin = args.window > 0 ? earliest + 1 - args.window : 0;
    window_tile = window_begin > 0 ? window_begin / kTileKeys : 0;
    sink_tiles = args.window > 0 ? (args.sinks + kTileKeys - 1) / kTileKeys : 0;
    some_dense = args.chosen == nullptr;
    for (int row = 0; row < args.rows && !some_dense; ++row) {
      some_dense = args.chosen[row] == nullptr;
    }
  }

  // The first such tile from `tile` on; a larger number than last_tile if there is none.
  [[gnu::always_inline]] int from(int tile) const {
    if (tile >= sink_tiles && tile < window_tile) tile = window_tile;
    if (some_dense) return tile;
    for (; tile <= last_tile; tile = (tile / 64 + 1) * 64) {
      uint64_t bits = 0;
      for (int row = 0; row < args.rows; ++row) {
        // Rows have no words after their position.
        if (tile / 64 <= args.positions[row] / kTileKeys / 64) bits |= args.chosen[row][tile / 64];
      }
      bits >>= tile % 64;
      if (bits != 0) return tile + __builtin_ctzll(bits);
    }
    return tile;
  }
};

// Merges the split that has just ended into the splits before it.
template <class V>
inline void merge_split(const AttentionScratch& scratch, int row, bool first) {
  const float sum = scratch.sum[row];
  const float max = scratch.max[row];
  float* into = scratch.total_values + row * scratch.width;
  const float* from = scratch.values + row * scratch.width;
  if (first) {
    for (int j = 0; j < scratch.width; j += 16) V::load(from + j).store(into + j);
    scratch.total_sum[row] = sum;
    scratch.total_max[row] = max;
    return;
  }
  const float largest = max > scratch.total_max[row] ? max : scratch.total_max[row];
  const V old_factor = exp(V::set1(scratch.total_max[row] - largest));
  const V new_factor = exp(V::set1(max - largest));
  for (int j = 0; j < scratch.width; j += 16) {
    V::fma(V::load(from + j), new_factor, V::load(into + j) * old_factor).store(into + j);
  }
  float sums[16];
  V::fma(V::set1(sum), new_factor, V::set1(scratch.total_sum[row]) * old_factor).store(sums);
  scratch.total_sum[row] = sums[0];
  scratch.total_max[row] = largest;
}

template <class V>
inline void start_split(const AttentionArgs& args, const AttentionScratch& scratch) {
  for (int row = 0; row < args.rows; ++row) {
    scratch.max[row] = -INFINITY;
    scratch.sum[row] = 0;
    float* values = scratch.values + row * scratch.width;
    for (int j = 0; j < scratch.width; j += 16) V::zero().store(values + j);
  }
}

template <class V>
inline void load_totals(const AttentionArgs& args, const AttentionScratch& scratch, bool* any) {
  for (int row = 0; row < args.rows; ++row) {
    const float* total = args.totals[row];
    any[row] = total[kTotalSum] != 0;
    scratch.total_max[row] = total[kTotalMax];
    scratch.total_sum[row] = total[kTotalSum];
    float* values = scratch.total_values + row * scratch.width;
    for (int j = 0; j < scratch.width; j += 16) V::load(total + kTotalValues + j).store(values + j);
  }
}

template <class V>
inline void store_totals(const AttentionArgs& args, const AttentionScratch& scratch,
                         const bool* any) {
  for (int row = 0; row < args.rows; ++row) {
    if (!any[row]) continue;
    float* total = args.totals[row];
    total[kTotalMax] = scratch.total_max[row];
    total[kTotalSum] = scratch.total_sum[row];
    const float* values = scratch.total_values + row * scratch.width;
    for (int j = 0; j < scratch.width; j += 16) V::load(values + j).store(total + kTotalValues + j);
  }
}

template <class V, class D, KvType kType>
inline void attention_of_type(const AttentionArgs& args) {
  const AttentionScratch scratch(args);
  constexpr int kSplitTiles = kSplitKeys / kTileKeys;
  if constexpr (kType == KvType::kInt8) {
    for (int row = 0; row < args.rows; ++row) {
      const QuantizedQuery query = quantize_query<V, D>(args.queries[row], args.head_dim,
                                                        scratch.queries + row * scratch.width);
      scratch.query_scale[row] = query.scale * args.scale;
      scratch.query_bias[row] = D::kBiased ? -128 * query.sum : 0;
    }
  }
  int earliest = args.positions[0], latest = args.positions[0];
  for (int row = 1; row < args.rows; ++row) {
    earliest = args.positions[row] < earliest ? args.positions[row] : earliest;
    latest = args.positions[row] > latest ? args.positions[row] : latest;
  }
  const int last_split = latest / kSplitKeys;
  const bool ends_here = last_split < args.split_end;
  const int last_tile = ends_here ? latest / kTileKeys : args.split_end * kSplitTiles - 1;
  const TileOrder order(args, earliest, last_tile);
  bool any[kAttentionRowsMax] = {};
  if (args.totals != nullptr) load_totals<V>(args, scratch, any);
  int tile = order.from(args.split_begin * kSplitTiles);
  while (tile <= last_tile) {
    bool seen[kAttentionRowsMax] = {};
    start_split<V>(args, scratch);
    const int split = tile / kSplitTiles;
    for (; tile <= last_tile && tile / kSplitTiles == split;) {
      const int next = order.from(tile + 1);
      add_split_tile<V, D, kType>(args, scratch, tile, next, last_tile, seen);
      tile = next;
    }
    for (int row = 0; row < args.rows; ++row) {
      if (!seen[row]) continue;
      merge_split<V>(scratch, row, !any[row]);
      any[row] = true;
    }
  }
  if (args.totals != nullptr) store_totals<V>(args, scratch, any);
  for (int row = 0; row < args.rows; ++row) {
    if (args.positions[row] / kSplitKeys >= args.split_end) continue;
    const float* values = scratch.total_values + row * scratch.width;
    float factor = 1.0f, total = scratch.total_sum[row];
    if (args.sink_logits != nullptr) {
      merge_sink(args.sink_logits[row], scratch.total_max[row], factor, total);
    }
    const V by = V::set1(factor), sum = V::set1(total);
    for_lanes(args.head_dim, [&](int i, int count) {
      (V::load(values + i) * by / sum).store_partial(args.outputs[row] + i, count);
    });
  }
}

template <class V, class D>
inline void attention(const AttentionArgs& args) {
  switch (args.kv_type) {
    case KvType::kF32: return attention_of_type<V, D, KvType::kF32>(args);
    case KvType::kBf16: return attention_of_type<V, D, KvType::kBf16>(args);
    case KvType::kFp16: return attention_of_type<V, D, KvType::kFp16>(args);
    case KvType::kFp8: return attention_of_type<V, D, KvType::kFp8>(args);
    case KvType::kInt8: return attention_of_type<V, D, KvType::kInt8>(args);
  }
}

}  // namespace cascade::generic
