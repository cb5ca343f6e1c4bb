// Attention in plain loops, one row at a time.
#include "kernels/scalar/attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "kernels/attention_totals.h"
#include "kernels/exp.h"
#include "kernels/kv_format.h"
#include "kernels/scalar/elementwise.h"
#include "kernels/scalar/query.h"

namespace cascade::scalar {
namespace {

float load(KvType type, const uint8_t* block, size_t index) {
  if (type == KvType::kF32) {
    float value;
    std::memcpy(&value, block + index * sizeof value, sizeof value);
    return value;
  }
  if (type == KvType::kFp8) return f16_to_f32(e4m3_as_f16(block[index])) * kE4m3AsF16Scale;
  uint16_t bits;
  std::memcpy(&bits, block + index * sizeof bits, sizeof bits);
  return type == KvType::kFp16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

float load_scale(const uint8_t* block, int channels, int token) {
  uint16_t bits;
  std::memcpy(&bits, block + kv_scales_offset(channels) + token * sizeof bits, sizeof bits);
  return f16_to_f32(bits);
}

// A row's query: as it is, and as int8.
struct Query {
  const float* x;
  QuantizedQuery rounded;

  Query(const float* values, int head_dim) : x(values), rounded(values, head_dim) {}
};

// A softmax over some of a row's keys, and the values weighted by it.
struct State {
  float max = -INFINITY;
  float sum = 0;
  std::vector<float> values;  // [head_dim]
};

// The keys of one tile that a row sees, as bits.
uint64_t visible_keys(const AttentionArgs& args, int row, int tile) {
  const int position = args.positions[row];
  if (tile > position / kTileKeys) return 0;
  const uint64_t* const chosen = args.chosen == nullptr ? nullptr : args.chosen[row];
  if (chosen != nullptr && (chosen[tile / 64] >> (tile % 64) & 1) == 0) return 0;
  uint64_t visible = 0;
  for (int slot = 0; slot < kTileKeys; ++slot) {
    const int key = tile * kTileKeys + slot;
    const bool in_window = args.window == 0 || key > position - args.window || key < args.sinks;
    if (key <= position && in_window) visible |= uint64_t{1} << slot;
  }
  return visible;
}

float score_of(const AttentionArgs& args, const Query& query, const uint8_t* keys, int slot) {
  const KvType type = args.kv_type;
  const auto at = [&](int d) { return key_index(type, args.head_dim, slot, d); };
  if (type == KvType::kInt8) {
    int dot = 0;
    for (int d = 0; d < args.head_dim; ++d) dot += query.rounded.q[d] * (keys[at(d)] - 128);
    const float factor = query.rounded.scale * args.scale;
    return static_cast<float>(dot) * (load_scale(keys, args.head_dim, slot) * factor);
  }
  float dot = 0;
  for (int d = 0; d < args.head_dim; ++d) {
    dot = std::fmaf(query.x[d], load(type, keys, at(d)), dot);
  }
  if (type != KvType::kFp8) return dot * args.scale;
  return dot * (load_scale(keys, args.head_dim, slot) * args.scale);
}

// The tile's weighted values; `e` has the exponentials, 0 where hidden.
void weigh_values(const AttentionArgs& args, const uint8_t* values, uint64_t visible,
                  const float* e, std::vector<float>& out) {
  const KvType type = args.kv_type;
  const int width = padded_head_dim(args.head_dim);
  for (int d = 0; d < args.head_dim; ++d) {
    float sum = 0;
    for (int slot = 0; slot < kTileKeys; ++slot) {
      if ((visible >> slot & 1) == 0) continue;
      const float scale = type == KvType::kFp8 ? load_scale(values, width, slot) : 1.0f;
      const size_t index = value_index(type, args.head_dim, slot, d);
      sum = std::fmaf(e[slot] * scale, load(type, values, index), sum);
    }
    out[d] = sum;
  }
}

// The same for int8. The caller must still multiply the result by the returned factor.
float weigh_int8_values(const AttentionArgs& args, const uint8_t* values, uint64_t visible,
                        const float* e, bool fine, std::vector<float>& out) {
  const int width = padded_head_dim(args.head_dim);
  float largest = 0;
  for (int slot = 0; slot < kTileKeys; ++slot) {
    if ((visible >> slot & 1) != 0) largest = std::max(largest, load_scale(values, width, slot));
  }
  const float inverse = largest > 0 ? 255.0f / largest : 0.0f;
  // The weights are in units of the first u8. With `fine`, a second u8 adds 1/256 of these units.
  const float steps = fine ? 256.0f : 1.0f;
  int weights[kTileKeys] = {};
  for (int slot = 0; slot < kTileKeys; ++slot) {
    if ((visible >> slot & 1) == 0) continue;
    const float p = e[slot] * (load_scale(values, width, slot) * inverse) * steps;
    weights[slot] = p > 0 ? static_cast<int>(std::nearbyint(p)) : 0;
  }
  for (int d = 0; d < args.head_dim; ++d) {
    int sum = 0;
    for (int slot = 0; slot < kTileKeys; ++slot) {
      const size_t index = value_index(KvType::kInt8, args.head_dim, slot, d);
      sum += weights[slot] * static_cast<int8_t>(values[index]);
    }
    out[d] = static_cast<float>(sum) * (1.0f / steps);
  }
  return largest / 255.0f;
}

void add_tile(const AttentionArgs& args, const Query& query, const uint8_t* page, uint64_t visible,
              State& state) {
  float e[kTileKeys] = {};
  float largest = -INFINITY;
  for (int slot = 0; slot < kTileKeys; ++slot) {
    if ((visible >> slot & 1) == 0) continue;
    e[slot] = score_of(args, query, page + args.key_offset, slot);
    if (args.soft_cap > 0) {
      e[slot] = soft_cap_reference(e[slot], args.soft_cap, 2.0f / args.soft_cap);
    }
    largest = std::max(largest, e[slot]);
  }
  float sums[16] = {};
  for (int slot = 0; slot < kTileKeys; ++slot) {
    if ((visible >> slot & 1) != 0) e[slot] = exp_reference(e[slot] - largest);
    sums[slot % 16] = sums[slot % 16] + e[slot];
  }
  const float max = largest > state.max ? largest : state.max;
  const float old_factor = exp_reference(state.max - max);
  float new_factor = exp_reference(largest - max);
  state.max = max;
  state.sum = std::fmaf(sum_lanes(sums), new_factor, state.sum * old_factor);

  const uint8_t* values = page + args.value_offset;
  std::vector<float> weighted(args.head_dim);
  if (args.kv_type == KvType::kInt8) {
    const bool fine = new_factor * kFineTileShare > state.sum;
    new_factor = weigh_int8_values(args, values, visible, e, fine, weighted) * new_factor;
  } else {
    weigh_values(args, values, visible, e, weighted);
  }
  for (int d = 0; d < args.head_dim; ++d) {
    state.values[d] = std::fmaf(weighted[d], new_factor, state.values[d] * old_factor);
  }
}

// The splits merged so far.
struct Total {
  bool empty = true;
  float max = 0;
  float sum = 0;
  std::vector<float> values;
};

// From and to a row of AttentionArgs::totals.
Total load_total(const float* from, int head_dim) {
  if (from[kTotalSum] == 0) return {};
  return {false, from[kTotalMax], from[kTotalSum],
          std::vector<float>(from + kTotalValues, from + kTotalValues + head_dim)};
}

void store_total(const Total& total, float* to) {
  if (total.empty) return;
  to[kTotalMax] = total.max;
  to[kTotalSum] = total.sum;
  std::ranges::copy(total.values, to + kTotalValues);
}

void merge(Total& total, State split) {
  const float sum = split.sum;
  if (total.empty) {
    total = {false, split.max, sum, std::move(split.values)};
    return;
  }
  const float max = split.max > total.max ? split.max : total.max;
  const float old_factor = exp_reference(total.max - max);
  const float new_factor = exp_reference(split.max - max);
  for (size_t d = 0; d < total.values.size(); ++d) {
    total.values[d] = std::fmaf(split.values[d], new_factor, total.values[d] * old_factor);
  }
  total.sum = std::fmaf(sum, new_factor, total.sum * old_factor);
  total.max = max;
}

}  // namespace

void attention(const AttentionArgs& args) {
  constexpr int kSplitTiles = kSplitKeys / kTileKeys;
  for (int row = 0; row < args.rows; ++row) {
    const int position = args.positions[row];
    const Query query(args.queries[row], args.head_dim);
    Total total;
    if (args.totals != nullptr) total = load_total(args.totals[row], args.head_dim);
    const int splits = std::min(args.split_end, position / kSplitKeys + 1);
    for (int split_index = args.split_begin; split_index < splits; ++split_index) {
      const int begin = split_index * kSplitTiles;
      State split;
      split.values.assign(args.head_dim, 0.0f);
      bool seen = false;
      for (int tile = begin; tile < begin + kSplitTiles && tile <= position / kTileKeys; ++tile) {
        const uint64_t visible = visible_keys(args, row, tile);
        if (visible == 0) continue;
        add_tile(args, query, args.pages[row][tile], visible, split);
        seen = true;
      }
      if (seen) merge(total, std::move(split));
    }
    if (args.totals != nullptr) store_total(total, args.totals[row]);
    if (position / kSplitKeys >= args.split_end) continue;
    float factor = 1;
    if (args.sink_logits != nullptr) {
      merge_sink(args.sink_logits[row], total.max, factor, total.sum);
    }
    for (int d = 0; d < args.head_dim; ++d) {
      args.outputs[row][d] = total.values[d] * factor / total.sum;
    }
  }
}

}  // namespace cascade::scalar
