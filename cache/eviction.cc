// The score of a page in seconds.
#include "cache/eviction.h"

#include <algorithm>
#include <cmath>

namespace cascade {
namespace {

constexpr double kReuseGapSeconds = 90;
// Attention over `position` earlier tokens costs as much as the rest of the model at about this
// depth (3,840 for Qwen3-0.6B; the order of magnitude is what counts).
constexpr double kAttentionParityTokens = 4000;
// More than any age: a class above in one number.
constexpr double kClassSeconds = 1e12;

}  // namespace

double page_score(const PageWorth& worth) {
  const double cost = 1 + static_cast<double>(worth.position) / kAttentionParityTokens;
  const double hits = static_cast<double>(std::max<int64_t>(1, worth.hits));
  const double seconds = static_cast<double>(worth.last_used_us) * 1e-6;
  return (worth.retained ? kClassSeconds : 0) + seconds + kReuseGapSeconds * std::log2(hits * cost);
}

}  // namespace cascade
