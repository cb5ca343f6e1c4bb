// Replays a trace with the real chain index, page pool and sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cache/trace.h"
#include "cache/eviction.h"

namespace cascade::speed {

struct ReplayResult {
  int64_t pages = 0;        // pages of the requests' prompts
  int64_t pages_found = 0;  // how many of these pages were reused
  // The cost of computing the pages of all prompts, in units of a chain's first page. Deeper pages
  // cost more, since their tokens attend to more.
  double cost = 0;
  double cost_saved = 0;
  int64_t evictions = 0;
  int64_t premature_evictions = 0;
  int64_t thrash_alarms = 0;
  double seconds = 0;  // for all requests, without the time to make up their tokens

  double hit_rate() const { return static_cast<double>(pages_found) / static_cast<double>(pages); }
  double saved() const { return cost_saved / cost; }
};

// Runs the prompts one after another, with a page pool of `capacity_pages` (at least 1) and token
// ids made up from block ids. Nothing is computed, and pages hold next to nothing. The part of a
// prompt for which there is no room counts as computed and is not kept. Errors: those of
// PageArena::create.
Result<ReplayResult> replay(const std::vector<TraceRequest>& trace, EvictionPolicy policy,
                            size_t capacity_pages);

}  // namespace cascade::speed
