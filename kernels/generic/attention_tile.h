// The two products of attention with one tile: scores = q.k, and probabilities times values.
#pragma once

#include "kernels/generic/attention_scratch.h"
#include "kernels/generic/blocks.h"
#include "kernels/generic/elementwise.h"

namespace cascade::generic {

template <class V>
inline void load_tile_scales(const AttentionArgs& args, const uint8_t* keys, const uint8_t* values,
                             TileScales& scales) {
  const auto* key = reinterpret_cast<const uint16_t*>(keys + kv_scales_offset(args.head_dim));
  const auto* value =
      reinterpret_cast<const uint16_t*>(values + kv_scales_offset(padded_head_dim(args.head_dim)));
  V largest = V::zero();
  for (int j = 0; j < kTileKeys; j += 16) {
    V::load_f16(key + j).store(scales.key + j);
    const V x = V::load_f16(value + j);
    x.store(scales.value + j);
    largest = V::max(x, largest);
  }
  scales.value_max = largest.largest();
  const V inverse = V::set1(scales.value_max > 0 ? 255.0f / scales.value_max : 0.0f);
  for (int j = 0; j < kTileKeys; j += 16) {
    (V::load(scales.value + j) * inverse).store(scales.normalized + j);
  }
}

template <class V, KvType kType>
[[gnu::always_inline]] inline V load_key(const uint8_t* keys, size_t element) {
  if constexpr (kType == KvType::kF32) {
    return V::load(reinterpret_cast<const float*>(keys) + element);
  } else if constexpr (kType == KvType::kFp16) {
    return V::load_f16(reinterpret_cast<const uint16_t*>(keys) + element);
  } else {
    return V::load_e4m3(keys + element);
  }
}

// Scores of kRows rows against the 16 * kGroups keys from group `group` on.
template <class V, KvType kType, int kRows, int kGroups>
[[gnu::always_inline]] inline void float_scores(const AttentionArgs& args, const uint8_t* keys,
                                                int row, int group, V (&sum)[kRows][kGroups]) {
  const int dim = args.head_dim;
  const float* query[kRows];
  unroll<kRows>([&](auto r) CASCADE_INLINE { query[r] = args.queries[row + r]; });
  unroll<kRows * kGroups>([&](auto i)
                              CASCADE_INLINE { sum[i / kGroups][i % kGroups] = V::zero(); });
  const auto step = [&](const V(&key)[kGroups], int d) CASCADE_INLINE {
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      const V q = V::set1(query[r][d]);
      unroll<kGroups>([&](auto g) CASCADE_INLINE { sum[r][g] = V::fma(q, key[g], sum[r][g]); });
    });
  };
  if constexpr (kType == KvType::kBf16) {
    const auto* from = reinterpret_cast<const uint16_t*>(keys) + size_t(group) * dim * 16;
    for (int d = 0; d < dim; d += 2) {
      V even[kGroups], odd[kGroups];
      unroll<kGroups>([&](auto g) CASCADE_INLINE {
        V::load_bf16_pairs(from + (size_t(g) * dim + d) * 16, even[g], odd[g]);
      });
      step(even, d);
      step(odd, d + 1);
    }
  } else {
    for (int d = 0; d < dim; ++d) {
      V key[kGroups];
      unroll<kGroups>([&](auto g) CASCADE_INLINE {
        key[g] = load_key<V, kType>(keys, (size_t(group + g) * dim + d) * 16);
      });
      step(key, d);
    }
  }
}

// `ahead`: the key block of the tile that comes next, or null.
template <class V, class D, KvType kType, int kRows, int kGroups>
inline void score_block(const AttentionArgs& args, const AttentionScratch& scratch,
                        const uint8_t* keys, [[maybe_unused]] const uint8_t* ahead,
                        const TileScales& scales, int row, int group) {
  float* scores = scratch.scores + row * kTileKeys + group * 16;
  if constexpr (kType == KvType::kInt8) {
    using I = typename D::Int;
    const int dim = args.head_dim;
    I sum[kRows][kGroups];
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      const I start = I::set1(scratch.query_bias[row + r]);
      unroll<kGroups>([&](auto g) CASCADE_INLINE { sum[r][g] = start; });
    });
    const int8_t* query = scratch.queries + row * scratch.width;
    const uint8_t* from = keys + static_cast<size_t>(group) * dim * 16;
    for (int d = 0; d < dim; d += 4) {
      typename D::Weights key[kGroups];
      unroll<kGroups>([&](auto g) CASCADE_INLINE {
        key[g] = D::load_weights(from + (size_t(g) * dim + d) * 16);
      });
      if (ahead != nullptr) {
        unroll<kGroups>([&](auto g) CASCADE_INLINE {
          __builtin_prefetch(ahead + (size_t(group + g) * dim + d) * 16);
        });
      }
      unroll<kRows>([&](auto r) CASCADE_INLINE {
        unroll<kGroups>([&](auto g) CASCADE_INLINE {
          sum[r][g] = D::dot(sum[r][g], key[g], query + r * scratch.width + d);
        });
      });
    }
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      const V factor = V::set1(scratch.query_scale[row + r]);
      unroll<kGroups>([&](auto g) CASCADE_INLINE {
        const V scale = V::load(scales.key + (group + g) * 16) * factor;
        (sum[r][g].to_float() * scale).store(scores + r * kTileKeys + g * 16);
      });
    });
  } else {
    V sum[kRows][kGroups];
    float_scores<V, kType>(args, keys, row, group, sum);
    unroll<kGroups>([&](auto g) CASCADE_INLINE {
      V scale = V::set1(args.scale);
      if constexpr (kType == KvType::kFp8) scale = V::load(scales.key + (group + g) * 16) * scale;
      unroll<kRows>([&](auto r) CASCADE_INLINE {
        (sum[r][g] * scale).store(scores + r * kTileKeys + g * 16);
      });
    });
  }
}

template <class V, KvType kType>
[[gnu::always_inline]] inline V load_value(const uint8_t* values, size_t element) {
  if constexpr (kType == KvType::kBf16) {
    return V::load_bf16(reinterpret_cast<const uint16_t*>(values) + element);
  } else {
    return load_key<V, kType>(values, element);
  }
}

// Adds the products of kRows rows of u8 and the tile's int8 values, for kVectors * 16 channels from
// `from` on.
template <class D, int kRows, int kVectors>
[[gnu::always_inline]] inline void add_products(const uint8_t* p, const uint8_t* from,
                                                const uint8_t* ahead, int width,
                                                typename D::Int (&sum)[kRows][kVectors]) {
  for (int key = 0; key < kTileKeys; key += 4) {
    typename D::Values value[kVectors];
    unroll<kVectors>([&](auto j) CASCADE_INLINE { value[j] = D::load_values(from + j * 64); });
    unroll<kRows>([&](auto r) CASCADE_INLINE {
      unroll<kVectors>([&](auto j) CASCADE_INLINE {
        sum[r][j] = D::dot_unsigned(sum[r][j], value[j], p + r * kTileKeys + key);
      });
    });
    if (ahead != nullptr) {
      unroll<kVectors>([&](auto j)
                           CASCADE_INLINE { __builtin_prefetch(ahead + key * width + j * 64); });
    }
    from += width * 4;
  }
}

// Computes the weighted int8 values. If no row of the block is fine, all its remainders are 0.
template <class V, class D, int kRows, int kVectors>
[[gnu::always_inline]] inline void int8_values(const AttentionScratch& scratch,
                                               const uint8_t* block, const uint8_t* ahead, int row,
                                               int vector, V (&weighted)[kRows][kVectors]) {
  using I = typename D::Int;
  I sum[kRows][kVectors];
  unroll<kRows * kVectors>([&](auto i)
                               CASCADE_INLINE { sum[i / kVectors][i % kVectors] = I::zero(); });
  if (ahead != nullptr) ahead += vector * 64;
  add_products<D>(scratch.probabilities + row * kTileKeys, block + vector * 64, ahead,
                  scratch.width, sum);
  bool fine = false;
  for (int r = 0; r < kRows; ++r) fine = fine || scratch.fine[row + r];
  if (!fine) {
    unroll<kRows * kVectors>([&](auto i) CASCADE_INLINE {
      weighted[i / kVectors][i % kVectors] = sum[i / kVectors][i % kVectors].to_float();
    });
    return;
  }
  unroll<kRows * kVectors>([&](auto i) CASCADE_INLINE {
    sum[i / kVectors][i % kVectors] = sum[i / kVectors][i % kVectors].times_256();
  });
  add_products<D>(scratch.remainders + row * kTileKeys, block + vector * 64, nullptr, scratch.width,
                  sum);
  unroll<kRows * kVectors>([&](auto i) CASCADE_INLINE {
    constexpr int r = i / kVectors, j = i % kVectors;
    weighted[r][j] = sum[r][j].to_float() * V::set1(1.0f / 256.0f);
  });
}

// values = values * old factor + (sum over the tile of probability * V) * factor, for kRows rows
// and kVectors * 16 channels. `ahead`: the value block of the tile that comes next, or null.
template <class V, class D, KvType kType, int kRows, int kVectors>
inline void value_block(const AttentionScratch& scratch, const uint8_t* block,
                        [[maybe_unused]] const uint8_t* ahead, uint64_t visible, int row,
                        int vector) {
  V weighted[kRows][kVectors];
  if constexpr (kType == KvType::kInt8) {
    int8_values<V, D>(scratch, block, ahead, row, vector, weighted);
  } else {
    unroll<kRows * kVectors>(
        [&](auto i) CASCADE_INLINE { weighted[i / kVectors][i % kVectors] = V::zero(); });
    const float* e = scratch.scores + row * kTileKeys;
    for (int key = 0; key < kTileKeys; ++key) {
      if ((visible >> key & 1) == 0) continue;
      V value[kVectors];
      unroll<kVectors>([&](auto j) CASCADE_INLINE {
        value[j] = load_value<V, kType>(block, size_t(key) * scratch.width + (vector + j) * 16);
      });
      unroll<kRows>([&](auto r) CASCADE_INLINE {
        const V weight = V::set1(e[r * kTileKeys + key]);
        unroll<kVectors>([&](auto j) CASCADE_INLINE {
          weighted[r][j] = V::fma(weight, value[j], weighted[r][j]);
        });
      });
    }
  }
  unroll<kRows>([&](auto r) CASCADE_INLINE {
    const V old_factor = V::set1(scratch.old_factor[row + r]);
    const V factor = V::set1(scratch.new_factor[row + r]);
    float* values = scratch.values + (row + r) * scratch.width + vector * 16;
    unroll<kVectors>([&](auto j) CASCADE_INLINE {
      const V old = V::load(values + j * 16) * old_factor;
      V::fma(weighted[r][j], factor, old).store(values + j * 16);
    });
  });
}

}  // namespace cascade::generic
