// Attention over pages for any vector type V16; scalar/attention.cc is the specification.
//
// Per row: tiles of 64 keys ascending with a running maximum (online softmax, Milakov and
// Gimelshein 2018), started afresh at every split of 1,024 keys, splits merged ascending. A row
// touches the keys it sees and no others, so that its bits depend on nothing else in the call.
#pragma once

#include <math.h>

#include "kernels/generic/blocks.h"
#include "kernels/generic/elementwise.h"
#include "kernels/kernels.h"
#include "kernels/kv_format.h"

namespace cascade::generic {

// One softmax over part of a row's keys: maximum, sum of exponentials, weighted values
// (in scratch).
struct SoftmaxState {
  float max;
  float sum;
  bool empty;
};

// The keys [begin, end) of a tile that a row sees.
struct Visible {
  int begin;
  int end;
};

// Views into AttentionArgs::scratch, for up to kAttentionRowsMax rows.
struct AttentionScratch {
  int width;      // head_dim rounded up to 16
  float* scores;  // [rows][64]: scores, then exponentials
  float* sums;    // [rows][16]: lanes of the current split's sum
  float* split;   // [rows][width]: weighted values of the current split
  float* total;   // [rows][width]: of the splits before

  [[gnu::always_inline]] explicit AttentionScratch(const AttentionArgs& args)
      : width(padded_head_dim(args.head_dim)),
        scores(args.scratch),
        sums(scores + kAttentionRowsMax * kTileKeys),
        split(sums + kAttentionRowsMax * 16),
        total(split + kAttentionRowsMax * width) {}
};

// Scores of kRows rows against the 16 * kGroups keys from group `group` on.
template <class V, KvType kType, int kRows, int kGroups>
inline void score_block(const AttentionArgs& args, const uint8_t* key_block, int row, int group,
                        float* scores) {
  const int dim = args.head_dim;
  V sum[kRows][kGroups];
  for (auto& sums : sum) {
    for (V& s : sums) s = V::zero();
  }
  if constexpr (kType == KvType::kF32) {
    const float* keys = reinterpret_cast<const float*>(key_block) + size_t(group) * dim * 16;
    for (int d = 0; d < dim; ++d) {
      V key[kGroups];
      for (int g = 0; g < kGroups; ++g) key[g] = V::load(keys + (size_t(g) * dim + d) * 16);
      for (int r = 0; r < kRows; ++r) {
        const V query = V::set1(args.queries[row + r][d]);
        for (int g = 0; g < kGroups; ++g) sum[r][g] = V::fma(query, key[g], sum[r][g]);
      }
    }
  } else {
    const uint16_t* keys = reinterpret_cast<const uint16_t*>(key_block) + size_t(group) * dim * 16;
    for (int d = 0; d < dim; d += 2) {
      V even[kGroups], odd[kGroups];
      for (int g = 0; g < kGroups; ++g) {
        V::load_bf16_pairs(keys + (size_t(g) * dim + d) * 16, even[g], odd[g]);
      }
      for (int r = 0; r < kRows; ++r) {
        const V first = V::set1(args.queries[row + r][d]);
        for (int g = 0; g < kGroups; ++g) sum[r][g] = V::fma(first, even[g], sum[r][g]);
      }
      for (int r = 0; r < kRows; ++r) {
        const V second = V::set1(args.queries[row + r][d + 1]);
        for (int g = 0; g < kGroups; ++g) sum[r][g] = V::fma(second, odd[g], sum[r][g]);
      }
    }
  }
  const V scale = V::set1(args.scale);
  for (int r = 0; r < kRows; ++r) {
    for (int g = 0; g < kGroups; ++g) {
      (sum[r][g] * scale).store(scores + (row + r) * kTileKeys + (group + g) * 16);
    }
  }
}

// values[row + r] += sum over keys [begin, end) of exponentials * V, for kVectors * 16 channels.
template <class V, KvType kType, int kRows, int kVectors>
inline void value_block(const uint8_t* block, const AttentionScratch& scratch, int row, int vector,
                        Visible keys) {
  V sum[kRows][kVectors];
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      sum[r][j] = V::load(scratch.split + (row + r) * scratch.width + (vector + j) * 16);
    }
  }
  for (int key = keys.begin; key < keys.end; ++key) {
    const size_t offset = size_t(key) * scratch.width + vector * 16;
    V value[kVectors];
    for (int j = 0; j < kVectors; ++j) {
      if constexpr (kType == KvType::kF32) {
        value[j] = V::load(reinterpret_cast<const float*>(block) + offset + j * 16);
      } else {
        value[j] = V::load_bf16(reinterpret_cast<const uint16_t*>(block) + offset + j * 16);
      }
    }
    for (int r = 0; r < kRows; ++r) {
      const V weight = V::set1(scratch.scores[(row + r) * kTileKeys + key]);
      for (int j = 0; j < kVectors; ++j) sum[r][j] = V::fma(weight, value[j], sum[r][j]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int j = 0; j < kVectors; ++j) {
      sum[r][j].store(scratch.split + (row + r) * scratch.width + (vector + j) * 16);
    }
  }
}

// Adds one tile's visible scores to a row's softmax and leaves the exponentials in the scores.
template <class V>
inline void softmax_step(const AttentionScratch& scratch, int row, Visible keys,
                         SoftmaxState& state) {
  float* scores = scratch.scores + row * kTileKeys;
  float* values = scratch.split + row * scratch.width;
  constexpr int kVectors = kTileKeys / 16;
  const auto lane = [](int bound, int j) {
    const int at = bound - 16 * j;
    return at < 0 ? 0 : at > 16 ? 16 : at;
  };
  V x[kVectors];
  for (int j = 0; j < kVectors; ++j) {
    x[j] = V::keep(V::load(scores + 16 * j), lane(keys.begin, j), lane(keys.end, j), -INFINITY);
  }
  const float largest = V::max(V::max(x[0], x[1]), V::max(x[2], x[3])).largest();
  V sum = V::load(scratch.sums + row * 16);
  if (state.empty) {
    sum = V::zero();
    for (int j = 0; j < scratch.width; j += 16) V::zero().store(values + j);
    state.max = largest;
    state.empty = false;
  } else if (largest > state.max) {
    const V factor = exp(V::set1(state.max - largest));
    sum = sum * factor;
    for (int j = 0; j < scratch.width; j += 16) (V::load(values + j) * factor).store(values + j);
    state.max = largest;
  }
  for (int j = 0; j < kVectors; ++j) {
    const V e = V::keep(exp(x[j] - V::set1(state.max)), lane(keys.begin, j), lane(keys.end, j), 0);
    e.store(scores + 16 * j);
    sum = sum + e;
  }
  sum.store(scratch.sums + row * 16);
}

template <class V, KvType kType>
inline void add_tile(const AttentionArgs& args, const AttentionScratch& scratch, int tile,
                     SoftmaxState* split) {
  const uint8_t* page = args.pages[tile];
  const auto scores = [&]<int kRows>(int row) {
    const auto groups = [&]<int kGroups>(int group) {
      score_block<V, kType, kRows, kGroups>(args, page + args.key_offset, row, group,
                                            scratch.scores);
    };
    for_blocks<V::kAttentionColumns>(kTileKeys / 16, groups);
  };
  for_blocks<V::kAttentionRows>(args.rows, scores);

  Visible visible[kAttentionRowsMax];
  bool all_whole = true;
  for (int r = 0; r < args.rows; ++r) {
    const int first = tile * kTileKeys;
    const int seen = args.positions[r] + 1 - first;
    const int hidden = args.window > 0 ? args.positions[r] + 1 - args.window - first : 0;
    visible[r].end = seen < 0 ? 0 : seen > kTileKeys ? kTileKeys : seen;
    visible[r].begin = hidden < 0 ? 0 : hidden > kTileKeys ? kTileKeys : hidden;
    all_whole = all_whole && visible[r].begin == 0 && visible[r].end == kTileKeys;
    if (visible[r].begin < visible[r].end) softmax_step<V>(scratch, r, visible[r], split[r]);
  }

  const int vectors = scratch.width / 16;
  const uint8_t* values = page + args.value_offset;
  if (all_whole) {
    const auto rows = [&]<int kRows>(int row) {
      const auto columns = [&]<int kVectors>(int vector) {
        value_block<V, kType, kRows, kVectors>(values, scratch, row, vector, {0, kTileKeys});
      };
      for_blocks<V::kAttentionColumns>(vectors, columns);
    };
    for_blocks<V::kAttentionRows>(args.rows, rows);
    return;
  }
  for (int r = 0; r < args.rows; ++r) {
    if (visible[r].begin >= visible[r].end) continue;
    const auto columns = [&]<int kVectors>(int vector) {
      value_block<V, kType, 1, kVectors>(values, scratch, r, vector, visible[r]);
    };
    for_blocks<V::kAttentionColumns>(vectors, columns);
  }
}

// total = total merged with the split that has just ended; the split is behind it in key order.
template <class V>
inline void merge_split(const AttentionScratch& scratch, int row, SoftmaxState& total,
                        SoftmaxState& split) {
  if (split.empty) return;
  split.sum = V::load(scratch.sums + row * 16).sum();
  float* into = scratch.total + row * scratch.width;
  const float* from = scratch.split + row * scratch.width;
  if (total.empty) {
    for (int j = 0; j < scratch.width; j += 16) V::load(from + j).store(into + j);
    total = split;
    return;
  }
  const float largest = total.max > split.max ? total.max : split.max;
  const V old_factor = exp(V::set1(total.max - largest));
  const V new_factor = exp(V::set1(split.max - largest));
  for (int j = 0; j < scratch.width; j += 16) {
    V::fma(V::load(from + j), new_factor, V::load(into + j) * old_factor).store(into + j);
  }
  float sums[16];
  V::fma(V::set1(split.sum), new_factor, V::set1(total.sum) * old_factor).store(sums);
  total.sum = sums[0];
  total.max = largest;
}

template <class V, KvType kType>
inline void attention_of_type(const AttentionArgs& args) {
  const AttentionScratch scratch(args);
  constexpr int kSplitTiles = kSplitKeys / kTileKeys;
  SoftmaxState total[kAttentionRowsMax], split[kAttentionRowsMax];
  for (int r = 0; r < args.rows; ++r) total[r] = {0, 0, true};
  // Positions do not decrease: the first row sees the earliest key, the last row the latest.
  const int earliest = args.window > 0 ? args.positions[0] + 1 - args.window : 0;
  const int first_tile = earliest > 0 ? earliest / kTileKeys : 0;
  const int last_tile = args.positions[args.rows - 1] / kTileKeys;
  for (int s = first_tile / kSplitTiles; s <= last_tile / kSplitTiles; ++s) {
    for (int r = 0; r < args.rows; ++r) split[r] = {0, 0, true};
    const int begin = s * kSplitTiles > first_tile ? s * kSplitTiles : first_tile;
    const int end = (s + 1) * kSplitTiles - 1 < last_tile ? (s + 1) * kSplitTiles - 1 : last_tile;
    for (int tile = begin; tile <= end; ++tile) add_tile<V, kType>(args, scratch, tile, split);
    for (int r = 0; r < args.rows; ++r) merge_split<V>(scratch, r, total[r], split[r]);
  }
  for (int r = 0; r < args.rows; ++r) {
    const float* values = scratch.total + r * scratch.width;
    const V sum = V::set1(total[r].sum);
    for_lanes(args.head_dim, [&](int i, int count) {
      (V::load(values + i) / sum).store_partial(args.outputs[r] + i, count);
    });
  }
}

template <class V>
inline void attention(const AttentionArgs& args) {
  if (args.kv_type == KvType::kF32) {
    attention_of_type<V, KvType::kF32>(args);
  } else {
    attention_of_type<V, KvType::kBf16>(args);
  }
}

}  // namespace cascade::generic
