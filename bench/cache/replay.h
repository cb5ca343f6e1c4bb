// A trace replayed through the real chain index, page pool and sequences.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cache/trace.h"
#include "cache/eviction.h"

namespace cascade::speed {

struct ReplayResult {
  int64_t pages = 0;        // that the requests' prompts have
  int64_t pages_found = 0;  // of those: reused
  // Cost of computing them, in units of a chain's first page: deeper pages cost more, since their
  // tokens attend to more.
  double cost = 0;
  double cost_saved = 0;
  int64_t evictions = 0;
  int64_t premature_evictions = 0;
  int64_t thrash_alarms = 0;
  double seconds = 0;  // of all requests, without making up their tokens

  double hit_rate() const { return static_cast<double>(pages_found) / static_cast<double>(pages); }
  double saved() const { return cost_saved / cost; }
};

// Runs the prompts one after the other, with a page pool of `capacity_pages` (at least 1) and token
// ids made up from block ids. Nothing is computed: pages hold next to nothing. What of a prompt has
// no room counts as computed and is not kept.
// Errors: as PageArena::create.
Result<ReplayResult> replay(const std::vector<TraceRequest>& trace, EvictionPolicy policy,
                            size_t capacity_pages);

}  // namespace cascade::speed
