// What a request takes from the result of a decode burst.
#pragma once

#include <cstddef>

#include "actors/scheduler/request.h"
#include "actors/scheduler/scheduler_work.h"
#include "cache/planner.h"
#include "wire/messages.h"

namespace cascade {

// Adds the most likely tokens at the place of the i-th token of the burst, if they were asked for.
// Scheduler's thread, as below.
void take_top_logprobs(const wire::DecodedSequence& result, size_t i, Request& request);

// Counts the tokens of the burst that selected pages, and its drafts, and keeps the record of
// these.
void take_counts(const wire::DecodedSequence& result, Request& request, Counters& counters);

// Returns the cost of a sampled token: how many prompt tokens could have been computed in its time.
double sampled_token_cost(const SpeedEstimate& speed);

}  // namespace cascade
