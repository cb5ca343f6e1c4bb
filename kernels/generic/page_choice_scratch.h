// The state that the choice of pages keeps between its steps.
#pragma once

#include "kernels/kv_format.h"
#include "kernels/page_choice.h"
#include "kernels/page_index.h"

namespace cascade::generic {

// The number of pages that are scored at once: one for each lane.
inline constexpr int kScoredPages = 16;

// Views into ChoosePagesArgs::scratch. Every part begins at a multiple of 64 bytes.
struct PageChoiceScratch {
  int width;            // head_dim rounded up to 16
  int stride;           // pages rounded up to 16
  float* scores;        // [rows][stride]
  float* logs;          // [clusters][16]: of the block of pages in progress
  uint16_t* scales;     // [clusters][16], f16
  uint8_t* nibbles;     // [clusters][d/8][16][4]
  int8_t* queries;      // [rows * heads][width]
  float* query_scale;   // [rows * heads]: includes the scale of q.k
  int32_t* query_bias;  // [rows * heads]: -8 * sum of q

  [[gnu::always_inline]] static constexpr size_t padded(size_t count) {
    return (count + 15) / 16 * 16;
  }

  [[gnu::always_inline]] static size_t floats(int head_dim, int rows, int heads, int pages) {
    const size_t queries = static_cast<size_t>(rows) * heads;
    return rows * padded(pages) + kPageClusters * kScoredPages * 3 / 2 +
           static_cast<size_t>(kPageClusters) * head_dim / 8 * kScoredPages +
           padded(queries * padded_head_dim(head_dim) / 4) + 2 * padded(queries);
  }

  [[gnu::always_inline]] PageChoiceScratch(const ChoosePagesArgs& args, int pages)
      : width(padded_head_dim(args.head_dim)), stride((pages + 15) / 16 * 16) {
    float* next = args.scratch;
    const auto take = [&next](size_t count) __attribute__((always_inline)) {
      float* part = next;
      next += padded(count);
      return part;
    };
    const size_t query_count = static_cast<size_t>(args.rows) * args.heads;
    scores = take(static_cast<size_t>(args.rows) * stride);
    logs = take(kPageClusters * kScoredPages);
    scales = reinterpret_cast<uint16_t*>(take(kPageClusters * kScoredPages / 2));
    nibbles = reinterpret_cast<uint8_t*>(
        take(static_cast<size_t>(kPageClusters) * args.head_dim / 8 * kScoredPages));
    queries = reinterpret_cast<int8_t*>(take(query_count * width / 4));
    query_scale = take(query_count);
    query_bias = reinterpret_cast<int32_t*>(take(query_count));
  }
};

}  // namespace cascade::generic
