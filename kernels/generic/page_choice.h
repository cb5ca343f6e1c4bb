// The choice of pages for any vector type V16 and dot product D; scalar/page_choice.cc is the
// specification. A lane is a page: sixteen indexes are transposed at a time, once for all rows.
#pragma once

#include <math.h>
#include <string.h>

#include "kernels/generic/blocks.h"
#include "kernels/generic/page_choice_scratch.h"
#include "kernels/generic/query.h"

namespace cascade::generic {

// Prefetches the indexes of up to 16 pages from `page` on: pages lie far apart, where no hardware
// prefetcher looks.
[[gnu::always_inline]] inline void prefetch_indexes(const ChoosePagesArgs& args, int page,
                                                    int pages) {
  const int end = page + kScoredPages < pages ? page + kScoredPages : pages;
  for (; page < end; ++page) {
    prefetch_bytes(args.pages[page] + args.index_offset, page_index_bytes(args.head_dim) + 63);
  }
}

// Transposes the indexes of the candidates among the pages [page, page + count), so that a lane is
// a page. Other lanes get the nearest candidate.
[[gnu::always_inline]] inline void transpose_indexes(const ChoosePagesArgs& args,
                                                     const PageChoiceScratch& scratch,
                                                     const float* logs, int page, int count) {
  const int words = kPageClusters * args.head_dim / 8;
  for (int lane = 0; lane < kScoredPages; ++lane) {
    int of = page + (lane < count ? lane : count - 1);
    if (of < args.candidates_begin) of = args.candidates_begin;
    const uint8_t* index = args.pages[of] + args.index_offset;
    uint8_t* to = scratch.nibbles + lane * 4;
    for (int w = 0; w < words; ++w) memcpy(to + w * 64, index + w * 4, 4);
    const uint8_t* scales = index + page_index_scales_offset(args.head_dim);
    const uint8_t* counts = index + page_index_counts_offset(args.head_dim);
    for (int c = 0; c < kPageClusters; ++c) {
      memcpy(scratch.scales + c * kScoredPages + lane, scales + c * 2, 2);
      scratch.logs[c * kScoredPages + lane] = logs[counts[c]];
    }
  }
}

// Scores kQueries queries against the 16 pages from `page` on, and keeps the best score of the
// heads of each row.
template <class V, class D, int kQueries>
inline void score_pages(const ChoosePagesArgs& args, const PageChoiceScratch& scratch, int page,
                        int query) {
  using I = typename D::Int;
  const int words = args.head_dim / 8;
  const int8_t* x = scratch.queries + query * scratch.width;
  V best[kQueries];
  unroll<kQueries>([&](auto r) CASCADE_INLINE { best[r] = V::set1(-kPageScoreMax); });
  const uint8_t* from = scratch.nibbles;
  for (int c = 0; c < kPageClusters; ++c) {
    I sum[kQueries], high_sum[kQueries];
    unroll<kQueries>([&](auto r) CASCADE_INLINE {
      sum[r] = I::set1(scratch.query_bias[query + r]);
      high_sum[r] = I::zero();
    });
    for (int w = 0; w < words; ++w, from += 64) {
      typename D::Bytes low, high;
      D::load_nibbles(from, low, high);
      unroll<kQueries>([&](auto r) CASCADE_INLINE {
        const int8_t* x8 = x + r * scratch.width + w * 8;
        sum[r] = D::dot_nibbles(sum[r], low, x8);
        I& into = D::kHighShift > 0 ? high_sum[r] : sum[r];
        into = D::dot_nibbles(into, high, x8 + 4);
      });
    }
    const V scale = V::load_f16(scratch.scales + c * kScoredPages);
    const V logs = V::load(scratch.logs + c * kScoredPages);
    unroll<kQueries>([&](auto r) CASCADE_INLINE {
      if constexpr (D::kHighShift > 0) sum[r] = sum[r] + high_sum[r].shifted_right(D::kHighShift);
      const V factor = scale * V::set1(scratch.query_scale[query + r]);
      best[r] = V::max(V::fma(sum[r].to_float(), factor, logs), best[r]);
    });
  }
  for (int r = 0; r < kQueries; ++r) {
    const int head = (query + r) % args.heads;
    float* scores = scratch.scores + (query + r) / args.heads * scratch.stride + page;
    V score = V::min(best[r], V::set1(kPageScoreMax));
    if (head > 0) score = V::max(score, V::load(scores));
    score.store(scores);
  }
}

// The scores of a row's candidates, in whole blocks of 16: the pages [begin, end).
struct RowScores {
  float* scores;  // that of page 0
  int begin;
  int end;
};

template <class V>
inline int count_at_least(const RowScores& row, float threshold) {
  const V limit = V::set1(threshold);
  int count = 0;
  for (int page = row.begin; page < row.end; page += 16) {
    count += __builtin_popcount(V::at_least(V::load(row.scores + page), limit));
  }
  return count;
}

// Sets the bits of the `count` pages with the best scores, the first ones of equal scores. There
// are more than `count` candidates, with scores from `lowest` to `highest`; other pages have
// -infinity. The function finds the threshold by halving an interval: each step counts the scores
// that reach its middle, and a dozen steps are usually enough.
template <class V>
inline void choose_best(const RowScores& row, float lowest, float highest, int count,
                        uint64_t* chosen) {
  // At least `count` scores reach `low`. Fewer than `count` reach `high`, unless it equals `low`.
  // `exact`: just `count` scores reach `low`. In the end no number lies between the two.
  float low = lowest, high = highest;
  bool exact = false;
  if (count_at_least<V>(row, high) >= count) low = high;
  while (low < high) {
    const float middle = 0.5f * low + 0.5f * high;
    if (!(middle > low && middle < high)) break;
    const int found = count_at_least<V>(row, middle);
    if (found >= count) low = middle;
    if (found <= count) high = middle;
    exact = found == count;
  }
  const V threshold = V::set1(low);
  int left = count;
  for (int page = row.begin; page < row.end; page += 16) {
    const V scores = V::load(row.scores + page);
    unsigned bits = V::at_least(scores, threshold);
    if (!exact) bits &= ~unsigned{V::at_least(threshold, scores)};
    left -= __builtin_popcount(bits);
    chosen[page / 64] |= uint64_t{bits} << (page % 64);
  }
  for (int page = row.begin; page < row.end && left > 0; page += 16) {
    const V scores = V::load(row.scores + page);
    unsigned equal = unsigned{V::at_least(scores, threshold)} & V::at_least(threshold, scores);
    for (; equal != 0 && left > 0; equal &= equal - 1, --left) {
      chosen[page / 64] |= uint64_t{equal & -equal} << (page % 64);
    }
  }
}

template <class V>
inline void choose_for_row(const ChoosePagesArgs& args, const PageChoiceScratch& scratch, int row) {
  const int begin = args.candidates_begin, end = args.candidates_end[row];
  uint64_t* chosen = args.chosen[row];
  if (end - begin <= args.count) {
    for (int page = begin; page < end; ++page) chosen[page / 64] |= uint64_t{1} << (page % 64);
    return;
  }
  const RowScores scores = {scratch.scores + static_cast<size_t>(row) * scratch.stride,
                            begin / 16 * 16, (end + 15) / 16 * 16};
  V lowest = V::set1(kPageScoreMax), highest = V::set1(-kPageScoreMax);
  for (int page = begin; page < end; page += 16) {
    const int count = end - page < 16 ? end - page : 16;
    const V x = V::keep(V::load_partial(scores.scores + page, count), 0, count, kPageScoreMax);
    lowest = V::min(x, lowest);
    highest = V::max(V::keep(x, 0, count, -kPageScoreMax), highest);
  }
  for (int page = scores.begin; page < begin; ++page) scores.scores[page] = -INFINITY;
  for (int page = end; page < scores.end; ++page) scores.scores[page] = -INFINITY;
  const float smallest = -(V::zero() - lowest).largest();
  choose_best<V>(scores, smallest, highest.largest(), args.count, chosen);
}

template <class V, class D>
inline void choose_pages(const ChoosePagesArgs& args) {
  int pages = 0;
  for (int row = 0; row < args.rows; ++row) {
    pages = args.candidates_end[row] > pages ? args.candidates_end[row] : pages;
  }
  const PageChoiceScratch scratch(args, pages);
  const int queries = args.rows * args.heads;
  for (int query = 0; query < queries; ++query) {
    const QuantizedQuery quantized = quantize_query<V, D>(args.queries[query], args.head_dim,
                                                          scratch.queries + query * scratch.width);
    scratch.query_scale[query] = quantized.scale * args.scale;
    scratch.query_bias[query] = -8 * quantized.sum;
  }
  const float* logs = cluster_logs();
  const bool any = pages > args.candidates_begin;
  for (int page = args.candidates_begin / 16 * 16; any && page < pages; page += 16) {
    prefetch_indexes(args, page + 2 * kScoredPages, pages);
    transpose_indexes(args, scratch, logs, page, pages - page < 16 ? pages - page : 16);
    for_blocks<D::kAttentionRows>(queries, [&]<int kQueries>(int query) {
      score_pages<V, D, kQueries>(args, scratch, page, query);
    });
  }
  for (int row = 0; row < args.rows; ++row) choose_for_row<V>(args, scratch, row);
}

}  // namespace cascade::generic
