// How many tokens are worth guessing before they are checked.
#pragma once

#include "base/draft_record.h"

namespace cascade {

// Costs relative to that of a dense step, which feeds one token.
struct DraftCosts {
  double draft = 1;      // of a step in the mode of the drafts
  double check_row = 1;  // of each further token that a dense pass feeds
};

// Returns how many drafts, up to `most`, give the most tokens for their cost; 0: a dense step is
// better. `expected` is the share of drafts that is right in other generations: it counts as much
// as a few drafts of this one, of which `record` knows. After some tokens without drafts the result
// is at least 1, if right drafts would pay, so that the record can get better.
int draft_length(const DraftRecord& record, double expected, const DraftCosts& costs, int most);

// Adds a check of `drafted` drafts, of which the first `accepted` were right; with 0 drafts, a
// dense step.
void note_round(DraftRecord& record, int drafted, int accepted);

}  // namespace cascade
