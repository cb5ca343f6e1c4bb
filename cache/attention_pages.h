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

// Returns how many tokens before it a token at `position` sees, at most.
int64_t seen_tokens(const AttentionMode& mode, int64_t position);

// Returns how many pages a sequence of `tokens` tokens needs in memory at a time, at most, if
// `slice` tokens are computed at a time and it gives up the pages that it looks away from.
int64_t working_pages(const AttentionMode& mode, int64_t tokens, int64_t slice);

// Returns how many pages of a chain of `tokens` tokens a sequence sees that goes on from its end.
int64_t end_pages(const AttentionMode& mode, int64_t tokens);

}  // namespace cascade
