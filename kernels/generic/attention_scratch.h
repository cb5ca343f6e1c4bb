// The state that attention keeps between its steps, for up to kAttentionRowsMax rows.
#pragma once

#include "kernels/kernels.h"
#include "kernels/kv_format.h"

namespace cascade::generic {

// Views into AttentionArgs::scratch. Every part begins at a multiple of 64 bytes.
struct AttentionScratch {
  int width;  // head_dim rounded up to 16
  // The tile in progress.
  float* scores;      // [rows][64]: scores, then exponentials
  float* tile_sum;    // [rows]
  float* tile_max;    // [rows]
  float* old_factor;  // [rows]: factor of the values before the tile
  float* new_factor;  // [rows]: factor of the tile's values; int8: of its integer sums
  // The split in progress.
  float* max;     // [rows]
  float* sum;     // [rows]
  float* values;  // [rows][width]
  // The splits before it.
  float* total_max;     // [rows]
  float* total_sum;     // [rows]
  float* total_values;  // [rows][width]
  // int8 only.
  uint8_t* probabilities;  // [rows][64]
  uint8_t* remainders;     // [rows][64]: 1/256 of the units of `probabilities`
  bool* fine;              // [rows]: whether some remainder may not be 0
  int8_t* queries;         // [rows][width]
  float* query_scale;      // [rows]: includes the scale of q.k
  int32_t* query_bias;     // [rows]: -128 * sum of q

  [[gnu::always_inline]] explicit AttentionScratch(const AttentionArgs& args)
      : width(padded_head_dim(args.head_dim)) {
    float* next = args.scratch;
    const auto take = [&next](int floats) __attribute__((always_inline)) {
      float* part = next;
      next += floats;
      return part;
    };
    constexpr int kRows = kAttentionRowsMax;
    scores = take(kRows * kTileKeys);
    tile_sum = take(kRows);
    tile_max = take(kRows);
    old_factor = take(kRows);
    new_factor = take(kRows);
    max = take(kRows);
    sum = take(kRows);
    values = take(kRows * width);
    total_max = take(kRows);
    total_sum = take(kRows);
    total_values = take(kRows * width);
    probabilities = reinterpret_cast<uint8_t*>(take(kRows * kTileKeys / 4));
    remainders = reinterpret_cast<uint8_t*>(take(kRows * kTileKeys / 4));
    fine = reinterpret_cast<bool*>(take(kRows));
    queries = reinterpret_cast<int8_t*>(take(kRows * width / 4));
    query_scale = take(kRows);
    query_bias = reinterpret_cast<int32_t*>(take(kRows));
  }
};

// The scales of one tile, widened once for all rows.
struct TileScales {
  alignas(64) float key[kTileKeys];
  alignas(64) float value[kTileKeys];
  // int8: value * (255 / value_max), where value_max is the largest of all 64 values.
  alignas(64) float normalized[kTileKeys];
  float value_max;
};

}  // namespace cascade::generic
