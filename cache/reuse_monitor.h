// What a cache learns from its own accesses: how soon chains come back, what was evicted too early.
#pragma once

#include <cstdint>

#include "cache/eviction.h"
#include "cache/eviction_filter.h"
#include "cache/ghost_list.h"
#include "cache/running_median.h"
#include "cache/thrash_detector.h"

namespace cascade {

// Pure bookkeeping, one thread.
class ReuseMonitor {
 public:
  // Until it is measured: the median gap between two uses of a chain is 123 s in a public trace of
  // conversations, 64 s in a synthetic one.
  static constexpr double kReuseGapInitialSeconds = 90;
  // How many evictions are remembered, in capacities. Of the latest ones it is known when they
  // were; of the others only that, which tells a cyclic scan of up to 65 times the cache.
  static constexpr size_t kGhostCapacities = 8;
  static constexpr size_t kFilterCapacities = 64;
  // Of the former, those of which it is said that they were premature: more, no cache of this order
  // could have avoided.
  static constexpr size_t kPrematureCapacities = 2;

  explicit ReuseMonitor(size_t capacity_pages);

  // A request found a page.
  void found();
  // A request was the first to find the end of a chain, `gap_us` after it was computed. Only these
  // gaps count: those of beginnings that everybody shares say nothing about a conversation.
  void reused(int64_t gap_us);
  // A page was computed that was not there.
  void computed(const Digest& key);
  // A page was evicted to make room.
  void evicted(const Digest& key, const PageWorth& worth);

  // What page_score() wants: the median reuse gap; for kAdaptive times a factor that grows when
  // pages of high recompute weight turn out to have been evicted too early, and shrinks when pages
  // of low weight do.
  double bonus_s(EvictionPolicy policy) const;

  int64_t hits() const { return hits_; }      // pages found
  int64_t misses() const { return misses_; }  // pages computed
  int64_t premature_evictions() const { return refaults_; }
  const ThrashDetector& thrash() const { return thrash_; }
  const GhostList& ghosts() const { return ghosts_; }

 private:
  const size_t premature_evictions_max_;  // since an eviction that was premature
  GhostList ghosts_;
  EvictionFilter long_ago_;
  ThrashDetector thrash_;
  RunningMedian gap_s_{kReuseGapInitialSeconds};
  double weight_mean_ = 0;  // of evicted pages, exponentially weighted
  double factor_ = 1;       // of the adaptive policy
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t refaults_ = 0;
};

}  // namespace cascade
