// What a cache learns from its own accesses: how soon chains come back, and what was evicted too
// early.
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
  // The reuse gap until one is measured: the median gap between two uses of a chain is 123 s in a
  // public trace of conversations, 64 s in a synthetic one.
  static constexpr double kReuseGapInitialSeconds = 90;
  // How many evictions are remembered, in capacities of the cache. For the latest ones it is known
  // when they happened; for the others only that they happened, which is enough to recognise a
  // cyclic scan of up to 65 times the cache.
  static constexpr size_t kGhostCapacities = 8;
  static constexpr size_t kFilterCapacities = 64;
  // Only the latest evictions, this many capacities of them, can count as premature: no cache of
  // about this size could have avoided more.
  static constexpr size_t kPrematureCapacities = 2;

  explicit ReuseMonitor(size_t capacity_pages);

  // A request found a page.
  void found();
  // Notes that a request was the first to find the end of a chain, `gap_us` after it was computed.
  // Only these gaps count: those of beginnings that everybody shares say nothing about a
  // conversation.
  void reused(int64_t gap_us);
  // Notes that a page that was not there was computed.
  void computed(const Digest& key);
  // A page was evicted to make room.
  void evicted(const Digest& key, const PageWorth& worth);

  // The bonus for page_score(): the median reuse gap. For kAdaptive it is multiplied by a factor
  // that grows when pages of high recompute weight turn out to have been evicted too early, and
  // shrinks when pages of low weight do.
  double bonus_s(EvictionPolicy policy) const;

  int64_t hits() const { return hits_; }      // pages found
  int64_t misses() const { return misses_; }  // pages computed
  int64_t premature_evictions() const { return refaults_; }
  const ThrashDetector& thrash() const { return thrash_; }
  const GhostList& ghosts() const { return ghosts_; }

 private:
  const size_t premature_evictions_max_;  // an eviction is premature if fewer followed
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
