// The pages of a sequence that an attention mode needs.
#pragma once

#include <cstdint>

#include "base/attention_mode.h"

namespace cascade {

// Pages [begin, end) of a sequence; none if begin >= end.
struct PageRange {
  int64_t begin = 0;
  int64_t end = 0;

  bool has(int64_t page) const { return page >= begin && page < end; }
};
// The pages that no token at `position` or later sees in a layer that attends in `mode`. Any page
// outside this range may be seen.
PageRange unseen_pages(const AttentionMode& mode, int64_t position);

// The pages that a sequence of `tokens` tokens looks away from: those that no token after its last
// whole page sees. So a sequence that copies its whole pages can go on from any token after them.
PageRange unseen_behind(const AttentionMode& mode, int64_t tokens);

// Returns the first of the last pages of a sequence of `tokens` tokens that it sees until it ends;
// 0 if it sees all its pages.
int64_t first_page_seen_to_end(const AttentionMode& mode, int64_t tokens);

// With selection, a token sees, beside what it chooses, the first page, which models use as a sink,
// and the latest ones, its own included. The bits of stored K and V depend on these numbers: if
// they change, the keys of owners must, too (Tenants::id()).
inline constexpr int kSelectSinkPages = 1;
inline constexpr int kSelectRecentPages = 16;

// The pages that a token at `position` may choose from.
PageRange select_candidates(int64_t position);

// Whether a token at `position` selects in a layer that attends in `mode`: it has at least twice as
// many candidates as it may choose. With fewer it is dense, since it would save little.
bool selects(const AttentionMode& mode, int64_t position);

// The number of keys that a token at `position` sees in a layer that attends in `mode`.
int64_t keys_seen(const AttentionMode& mode, int64_t position);

// The sum of the positions [begin, end).
double sum_of_positions(int64_t begin, int64_t end);

// How much work the attention of the tokens at [begin, end) is, for estimates: the number of
// earlier tokens that they see, on average over the model's `layers` (at least 1). To choose among
// pages is as much work as to see two tokens of each.
double attention_work(const AttentionMode& mode, int layers, int64_t begin, int64_t end);

// Returns how many pages a sequence of `tokens` tokens needs in memory at a time, at most, if
// `slice` tokens are computed at a time and it gives up the pages that it looks away from.
int64_t working_pages(const AttentionMode& mode, int64_t tokens, int64_t slice);

// Returns how many pages of a chain of `tokens` tokens a sequence sees that goes on from its end.
int64_t end_pages(const AttentionMode& mode, int64_t tokens);

}  // namespace cascade
