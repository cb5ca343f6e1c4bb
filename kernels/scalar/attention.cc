// Attention in plain loops, one row at a time.
#include "kernels/scalar/attention.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/exp.h"
#include "kernels/kv_format.h"
#include "kernels/scalar/elementwise.h"

namespace cascade::scalar {
namespace {

// A softmax over some of a row's keys.
struct State {
  float max = 0;
  float sum = 0;
  bool empty = true;
  std::vector<float> values;  // [head_dim], weighted by the exponentials
};

// Keys [begin, end) of a row, all in one split.
State split_of_row(const AttentionArgs& args, int row, int begin, int end) {
  State state;
  state.values.assign(args.head_dim, 0.0f);
  float sums[16] = {};
  while (begin < end) {
    const int tile = begin / kTileKeys;
    const int tile_end = std::min(end, (tile + 1) * kTileKeys);
    const uint8_t* keys = args.pages[tile] + args.key_offset;
    const uint8_t* values = args.pages[tile] + args.value_offset;
    float weights[kTileKeys] = {};
    float largest = -INFINITY;
    for (int key = begin; key < tile_end; ++key) {
      float score = 0;
      for (int d = 0; d < args.head_dim; ++d) {
        const size_t index = key_index(args.kv_type, args.head_dim, key % kTileKeys, d);
        score = std::fmaf(args.queries[row][d], load_kv(args.kv_type, keys, index), score);
      }
      weights[key % kTileKeys] = score * args.scale;
      largest = std::max(largest, weights[key % kTileKeys]);
    }
    if (state.empty) {
      state.max = largest;
      state.empty = false;
    } else if (largest > state.max) {
      const float factor = exp_reference(state.max - largest);
      for (float& sum : sums) sum = sum * factor;
      for (float& value : state.values) value = value * factor;
      state.max = largest;
    }
    for (int key = begin; key < tile_end; ++key) {
      const int slot = key % kTileKeys;
      weights[slot] = exp_reference(weights[slot] - state.max);
      sums[slot % 16] = sums[slot % 16] + weights[slot];
      for (int d = 0; d < args.head_dim; ++d) {
        const float value = load_kv(args.kv_type, values, value_index(args.head_dim, slot, d));
        state.values[d] = std::fmaf(weights[slot], value, state.values[d]);
      }
    }
    begin = tile_end;
  }
  state.sum = sum_lanes(sums);
  return state;
}

void merge(State& total, State split) {
  if (total.empty) {
    total = std::move(split);
    return;
  }
  const float largest = std::max(total.max, split.max);
  const float old_factor = exp_reference(total.max - largest);
  const float new_factor = exp_reference(split.max - largest);
  for (size_t d = 0; d < total.values.size(); ++d) {
    total.values[d] = std::fmaf(split.values[d], new_factor, total.values[d] * old_factor);
  }
  total.sum = std::fmaf(split.sum, new_factor, total.sum * old_factor);
  total.max = largest;
}

}  // namespace

void attention(const AttentionArgs& args) {
  for (int row = 0; row < args.rows; ++row) {
    const int end = args.positions[row] + 1;
    int begin = args.window > 0 ? std::max(0, end - args.window) : 0;
    State total;
    while (begin < end) {
      const int split_end = std::min(end, (begin / kSplitKeys + 1) * kSplitKeys);
      merge(total, split_of_row(args, row, begin, split_end));
      begin = split_end;
    }
    for (int d = 0; d < args.head_dim; ++d) args.outputs[row][d] = total.values[d] / total.sum;
  }
}

}  // namespace cascade::scalar
