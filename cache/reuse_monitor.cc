// Keeps counters, the evictions, and one learned number.
#include "cache/reuse_monitor.h"

#include <algorithm>
#include <cmath>

namespace cascade {
namespace {

constexpr double kMeanWeight = 1.0 / 256;  // weight of a new eviction in the mean

// A refault moves the factor by 1 %: hundreds of them double it, a burst does not. The range from a
// fourth to four times the median gap contains what was best on any trace and capacity.
constexpr double kFactorStep = 1.01;
constexpr double kFactorMin = 0.25, kFactorMax = 4;

}  // namespace

ReuseMonitor::ReuseMonitor(size_t capacity_pages)
    : premature_evictions_max_(kPrematureCapacities * capacity_pages),
      ghosts_(kGhostCapacities * capacity_pages),
      long_ago_(kFilterCapacities * capacity_pages),
      thrash_(capacity_pages) {}

void ReuseMonitor::found() {
  ++hits_;
  thrash_.add_hit();
}

void ReuseMonitor::reused(int64_t gap_us) {
  gap_s_.add(static_cast<double>(std::max<int64_t>(0, gap_us)) * 1e-6);
}

void ReuseMonitor::computed(const Digest& key) {
  ++misses_;
  const auto ghost = ghosts_.take(key);
  const bool premature = ghost && ghost->evictions < premature_evictions_max_;
  thrash_.add_miss(premature, ghost || long_ago_.may_have(key));
  if (!premature) return;
  ++refaults_;
  // A page of high weight is the greater loss.
  const bool costly = ghost->weight > weight_mean_;
  const double step = costly ? kFactorStep * kFactorStep : 1 / kFactorStep;
  factor_ = std::clamp(factor_ * step, kFactorMin, kFactorMax);
}

void ReuseMonitor::evicted(const Digest& key, const PageWorth& worth) {
  const double weight = recompute_weight(worth);
  weight_mean_ += kMeanWeight * (weight - weight_mean_);
  ghosts_.add(key, {weight, worth.last_used_us});
  long_ago_.add(key);
}

double ReuseMonitor::bonus_s(EvictionPolicy policy) const {
  return gap_s_.value() * (policy == EvictionPolicy::kAdaptive ? factor_ : 1);
}

}  // namespace cascade
