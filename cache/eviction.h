// How much a page is worth keeping: a pure function, so that policies can be compared on traces.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class EvictionPolicy {
  kLru,       // evicts the least recently used page first
  kLfu,       // evicts the least often used page first
  kPriority,  // evicts the lowest priority first; among equals the least recently used page
  kHybrid,    // as kPriority, but often used and costly pages count as used later, and thrashing is
              // reacted to (the default)
  kAdaptive,  // as kHybrid, but how much later is learned from premature evictions
};

std::string_view to_string(EvictionPolicy policy);  // "lru", "lfu", …
std::optional<EvictionPolicy> eviction_policy_from_string(std::string_view name);

// Priorities of pages and chunks: 0 is evicted first, 100 last.
inline constexpr int32_t kPriorityMin = 0;
inline constexpr int32_t kPriorityMax = 100;
// The priority of pages that nobody asked to keep.
inline constexpr int32_t kPriorityNormal = 35;
// The priority of the pages of a retained chunk if none was given.
inline constexpr int32_t kPriorityRetained = 50;

// What eviction knows about a leaf of the chain tree.
struct PageWorth {
  int32_t priority = kPriorityNormal;
  bool on_probation = false;  // came while the cache thrashed, and has not been found since
  int64_t last_used_us = 0;
  int64_t hits = 0;      // how often a request found the page
  int64_t position = 0;  // of the first token: deeper pages cost more to compute again
};

// The page with the lowest score is evicted first.
struct PageScore {
  int32_t rank = 0;  // the class
  double value = 0;  // within a class
  int64_t last_used_us = 0;
  auto operator<=>(const PageScore&) const = default;
};

// log2(uses * cost), at least 0. The cost is that of computing the page's tokens at their depth, in
// units of the first page's cost. All pages have one size, so bytes do not matter.
double recompute_weight(const PageWorth& worth);

// With kHybrid and kAdaptive, the score within a class is the time of last use plus bonus_s *
// recompute_weight(), in seconds. If only leaves are evicted, a bonus equal to the typical time
// between two uses of a chain saves the most compute on public traces (docs/PERFORMANCE.md). kLru
// and kLfu ignore priorities. Pages on probation rank below all others, unless their priority is
// above kPriorityNormal.
PageScore page_score(EvictionPolicy policy, const PageWorth& worth, double bonus_s);

}  // namespace cascade
