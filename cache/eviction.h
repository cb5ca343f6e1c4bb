// How much a page is worth keeping: a pure function, so that policies can be compared on traces.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cascade {

enum class EvictionPolicy {
  kLru,       // the page used longest ago goes first
  kLfu,       // the page used least often goes first
  kPriority,  // the lowest priority first; among equals the one used longest ago
  kHybrid,    // as kPriority, but often used and costly pages count as used later, and thrashing is
              // reacted to (the default)
  kAdaptive,  // as kHybrid, but by how much later is learned from premature evictions
};

std::string_view to_string(EvictionPolicy policy);  // "lru", "lfu", …
std::optional<EvictionPolicy> eviction_policy_from_string(std::string_view name);

// Priorities of pages and chunks: 0 goes first, 100 last.
inline constexpr int32_t kPriorityMin = 0;
inline constexpr int32_t kPriorityMax = 100;
// Of pages that nobody asked to keep.
inline constexpr int32_t kPriorityNormal = 35;
// Of pages of retained chunks that were given none.
inline constexpr int32_t kPriorityRetained = 50;

// What eviction knows about a leaf of the chain tree.
struct PageWorth {
  int32_t priority = kPriorityNormal;
  bool on_probation = false;  // came while the cache thrashed, and was not found since
  int64_t last_used_us = 0;
  int64_t hits = 0;      // times it was found by a request
  int64_t position = 0;  // of the page's first token: deeper pages cost more to compute again
};

// The lowest goes first.
struct PageScore {
  int32_t rank = 0;  // the class
  double value = 0;  // within a class
  int64_t last_used_us = 0;
  auto operator<=>(const PageScore&) const = default;
};

// log2(uses * cost): the cost is that of computing the page's tokens at their depth, in units of
// the first page's. All pages have one size, so bytes do not matter. At least 0.
double recompute_weight(const PageWorth& worth);

// kHybrid and kAdaptive: within a class the score is the time of last use plus
// bonus_s * recompute_weight(), in seconds. A bonus of the typical time between two uses of a chain
// saves most compute on public traces, if only leaves are evicted (docs/PERFORMANCE.md).
// kLru and kLfu know no priorities. Pages on probation rank below all others but those that have a
// priority of their own.
PageScore page_score(EvictionPolicy policy, const PageWorth& worth, double bonus_s);

}  // namespace cascade
