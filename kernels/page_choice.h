// The choice of pages that rows attend to: arguments, and what all instruction sets share.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cascade {

// Chooses pages for the rows of one sequence and KV head, by the index of each page
// (kernels/page_index.h). The score of a page is the largest one over the row's query heads and the
// page's clusters of
//   (sum over channels of q * mean) * scale + log(keys of the cluster)
// with q rounded to int8 with one scale. The exponential of a cluster's score estimates the sum of
// the exponentials of its keys. Sums of products are exact; the rest is one fused multiply-add. A
// NaN counts as -kPageScoreMax.
struct ChoosePagesArgs {
  int head_dim;                 // multiple of 8, <= 512
  float scale;                  // of q.k
  const uint8_t* const* pages;  // [the largest of candidates_end]
  size_t index_offset;          // of this layer's and head's index in a page, bytes
  int rows;                     // >= 1
  int heads;                    // query heads of the KV head
  const float* const* queries;  // [rows * heads]: head_dim floats each, the heads of a row together
  // Row r chooses from the pages [candidates_begin, candidates_end[r]), which all have an index.
  int candidates_begin;
  const int32_t* candidates_end;  // [rows]
  // The number of pages that are chosen, >= 1: those with the best scores, the first ones of equal
  // scores. Rows that have no more candidates choose all of them.
  int count;
  // [rows]: (candidates_end[r] + 63) / 64 words; the bits of chosen pages are set, others stay as
  // they are.
  uint64_t* const* chosen;
  float* scratch;  // choose_pages_scratch_floats(…), 64-byte aligned
};

// `pages`: the largest of candidates_end.
size_t choose_pages_scratch_floats(int head_dim, int rows, int heads, int pages);

// Scores are kept in [-kPageScoreMax, kPageScoreMax]. Differences of scores above it could not be
// seen in a softmax; a larger bound would make the search for the best scores longer where a score
// is not a number.
inline constexpr float kPageScoreMax = 1e6f;

// log(n) for the n keys of a cluster; -infinity for 0 and for numbers that no cluster has.
const float* cluster_logs();  // [256]

}  // namespace cascade
