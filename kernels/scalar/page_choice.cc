// The choice of pages in plain loops, one row at a time.
#include "kernels/scalar/page_choice.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/number_types.h"
#include "kernels/page_index.h"
#include "kernels/scalar/query.h"

namespace cascade::scalar {
namespace {

// The number that the index holds for a channel of a cluster's mean.
int mean_at(const uint8_t* index, int head_dim, int cluster, int channel) {
  const uint8_t* word = index + (static_cast<size_t>(cluster) * head_dim + channel / 8 * 8) / 2;
  const int byte = word[channel % 4];
  return (channel % 8 < 4 ? byte & 15 : byte >> 4) - 8;
}

float score_of(const QuantizedQuery& query, float query_scale, const uint8_t* index, int head_dim) {
  float best = -kPageScoreMax;
  for (int c = 0; c < kPageClusters; ++c) {
    int dot = 0;
    for (int d = 0; d < head_dim; ++d) dot += query.q[d] * mean_at(index, head_dim, c, d);
    uint16_t scale;
    std::memcpy(&scale, index + page_index_scales_offset(head_dim) + c * sizeof scale,
                sizeof scale);
    const int keys = index[page_index_counts_offset(head_dim) + c];
    const float score =
        std::fmaf(static_cast<float>(dot), f16_to_f32(scale) * query_scale, cluster_logs()[keys]);
    best = score > best ? score : best;
  }
  return std::min(best, kPageScoreMax);
}

}  // namespace

void choose_pages(const ChoosePagesArgs& args) {
  for (int row = 0; row < args.rows; ++row) {
    struct Scored {
      float score;
      int page;
    };
    std::vector<Scored> candidates;
    for (int page = args.candidates_begin; page < args.candidates_end[row]; ++page) {
      candidates.push_back({-kPageScoreMax, page});
    }
    for (int head = 0; head < args.heads; ++head) {
      const QuantizedQuery query(args.queries[row * args.heads + head], args.head_dim);
      const float query_scale = query.scale * args.scale;
      for (Scored& candidate : candidates) {
        const uint8_t* index = args.pages[candidate.page] + args.index_offset;
        candidate.score =
            std::max(candidate.score, score_of(query, query_scale, index, args.head_dim));
      }
    }
    std::ranges::stable_sort(candidates, std::ranges::greater(), &Scored::score);
    for (size_t i = 0; i < candidates.size() && i < static_cast<size_t>(args.count); ++i) {
      const int page = candidates[i].page;
      args.chosen[row][page / 64] |= uint64_t{1} << (page % 64);
    }
  }
}

}  // namespace cascade::scalar
