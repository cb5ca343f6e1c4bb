// Farthest-point clustering (Gonzalez 1985), and one step of k-means (Lloyd 1982) after it. Plain
// loops over 16 lanes: compilers turn them into vector code, whose sums have the same order.
#include "kernels/page_index.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/kv_format.h"
#include "kernels/scalar/elementwise.h"
#include "kernels/write_kv.h"

namespace cascade {
namespace {

constexpr int kKeys = kKvBlockTokens;
constexpr int kLanes = 16;
// A scale beyond it would be infinite.
constexpr float kF16Max = 65504;

float load_float(KvType type, const uint8_t* block, size_t index) {
  if (type == KvType::kFp8) return e4m3_to_f32(block[index]);
  if (type == KvType::kF32) {
    float value;
    std::memcpy(&value, block + index * sizeof value, sizeof value);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, block + index * sizeof bits, sizeof bits);
  return type == KvType::kFp16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

// The keys as floats, row by row; rows have `width` floats, 0 from head_dim on.
void load_keys(KvType type, int head_dim, int width, const uint8_t* block, float* keys) {
  const uint8_t* scales = block + kv_scales_offset(head_dim);
  for (int key = 0; key < kKeys; ++key) {
    float* row = keys + static_cast<size_t>(key) * width;
    std::fill(row + head_dim, row + width, 0.0f);
    float scale = 1;
    if (kv_has_scales(type)) {
      uint16_t bits;
      std::memcpy(&bits, scales + key * sizeof bits, sizeof bits);
      scale = f16_to_f32(bits);
    }
    if (type == KvType::kInt8) {
      const uint8_t* four = block + key_index(type, head_dim, key, 0);
      for (int d = 0; d < head_dim; d += 4, four += kLanes * 4) {
        for (int j = 0; j < 4; ++j) row[d + j] = static_cast<float>(four[j] - 128) * scale;
      }
      continue;
    }
    for (int d = 0; d < head_dim; ++d) {
      row[d] = load_float(type, block, key_index(type, head_dim, key, d)) * scale;
    }
  }
}

float distance(const float* a, const float* b, int width) {
  float lanes[kLanes] = {};
  for (int d = 0; d < width; d += kLanes) {
    for (int i = 0; i < kLanes; ++i) {
      const float difference = a[d + i] - b[d + i];
      lanes[i] += difference * difference;
    }
  }
  return scalar::sum_lanes(lanes);
}

struct Clusters {
  int of_key[kKeys] = {};
  int counts[kPageClusters] = {};
};

// Adds up the keys of a cluster in `mean`, and divides them by their number.
template <class IsMember>
void mean_of(const float* keys, int width, int count, const IsMember& is_member, float* mean) {
  std::fill(mean, mean + width, 0.0f);
  for (int key = 0; key < kKeys; ++key) {
    if (!is_member(key)) continue;
    const float* row = keys + static_cast<size_t>(key) * width;
    for (int d = 0; d < width; ++d) mean[d] += row[d];
  }
  const float inverse = 1.0f / static_cast<float>(count);
  for (int d = 0; d < width; ++d) mean[d] *= inverse;
}

// `mean` is that of all keys.
Clusters cluster(const float* keys, int width, const float* mean) {
  Clusters clusters;
  float nearest[kKeys];
  for (int key = 0; key < kKeys; ++key) nearest[key] = distance(keys + key * width, mean, width);
  for (int c = 1; c < kPageClusters; ++c) {
    int farthest = 0;
    for (int key = 1; key < kKeys; ++key) {
      if (nearest[key] > nearest[farthest]) farthest = key;
    }
    if (!(nearest[farthest] > 0)) break;
    for (int key = 0; key < kKeys; ++key) {
      const float other = distance(keys + key * width, keys + farthest * width, width);
      if (!(other < nearest[key])) continue;
      nearest[key] = other;
      clusters.of_key[key] = c;
    }
  }
  for (const int c : clusters.of_key) ++clusters.counts[c];
  return clusters;
}

// Writes the mean of cluster `c`.
void store_mean(const float* mean, int head_dim, int c, uint8_t* index) {
  float largest = 0;
  for (int d = 0; d < head_dim; ++d) largest = std::max(largest, std::fabs(mean[d]));
  const KvTokenScale scale(std::min(largest, 7.0f * kF16Max), 7.0f);
  const auto nibble = [&](int d) {
    const float scaled = mean[d] * scale.inverse;
    const float low = scaled > -7.0f ? scaled : -7.0f;
    return static_cast<unsigned>(std::nearbyint(low < 7.0f ? low : 7.0f) + 8.0f);
  };
  uint8_t* out = index + static_cast<size_t>(c) * head_dim / 2;
  for (int d = 0; d < head_dim; d += 8) {
    for (int j = 0; j < 4; ++j)
      *out++ = static_cast<uint8_t>(nibble(d + j) | nibble(d + 4 + j) << 4);
  }
  std::memcpy(index + page_index_scales_offset(head_dim) + c * sizeof scale.bits, &scale.bits,
              sizeof scale.bits);
}

}  // namespace

size_t index_page_scratch_floats(int head_dim) {
  return static_cast<size_t>(kKeys + 1) * padded_head_dim(head_dim);
}

void index_page(KvType type, int head_dim, const uint8_t* key_block, float* scratch,
                uint8_t* index) {
  const int width = padded_head_dim(head_dim);
  float* keys = scratch;
  float* mean = scratch + static_cast<size_t>(kKeys) * width;
  load_keys(type, head_dim, width, key_block, keys);
  mean_of(
      keys, width, kKeys, [](int) { return true; }, mean);
  const Clusters clusters = cluster(keys, width, mean);
  std::memset(index, 0, page_index_bytes(head_dim));
  for (int c = 0; c < kPageClusters; ++c) {
    const int count = clusters.counts[c];
    if (count == 0) continue;
    mean_of(
        keys, width, count, [&](int key) { return clusters.of_key[key] == c; }, mean);
    store_mean(mean, head_dim, c, index);
    index[page_index_counts_offset(head_dim) + c] = static_cast<uint8_t>(count);
  }
}

}  // namespace cascade
