// Computes the scores of pages, as the policy says.
#include "cache/eviction.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace cascade {
namespace {

// Attention over `position` earlier tokens costs as much as the rest of the model at about this
// depth (3,840 for Qwen3-0.6B; the order of magnitude is what counts).
constexpr double kAttentionParityTokens = 4000;

constexpr std::array<std::pair<EvictionPolicy, std::string_view>, 5> kNames = {{
    {EvictionPolicy::kLru, "lru"},
    {EvictionPolicy::kLfu, "lfu"},
    {EvictionPolicy::kPriority, "priority"},
    {EvictionPolicy::kHybrid, "hybrid"},
    {EvictionPolicy::kAdaptive, "adaptive"},
}};

int32_t rank_of(EvictionPolicy policy, const PageWorth& worth) {
  if (worth.on_probation && worth.priority <= kPriorityNormal) return kPriorityMin - 1;
  const bool ranked = policy != EvictionPolicy::kLru && policy != EvictionPolicy::kLfu;
  return ranked ? worth.priority : kPriorityMin;
}

}  // namespace

std::string_view to_string(EvictionPolicy policy) {
  for (const auto& [value, name] : kNames) {
    if (value == policy) return name;
  }
  return "unknown";
}

std::optional<EvictionPolicy> eviction_policy_from_string(std::string_view name) {
  for (const auto& [value, known] : kNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

double recompute_weight(const PageWorth& worth) {
  const double position = static_cast<double>(std::max<int64_t>(0, worth.position));
  const double uses = 1 + static_cast<double>(std::max<int64_t>(0, worth.hits));
  return std::log2(uses * (1 + position / kAttentionParityTokens));
}

PageScore page_score(EvictionPolicy policy, const PageWorth& worth, double bonus_s) {
  PageScore score = {rank_of(policy, worth), 0, worth.last_used_us};
  switch (policy) {
    case EvictionPolicy::kLru:
    case EvictionPolicy::kPriority: break;
    case EvictionPolicy::kLfu: score.value = static_cast<double>(worth.hits); break;
    case EvictionPolicy::kHybrid:
    case EvictionPolicy::kAdaptive:
      score.value =
          static_cast<double>(worth.last_used_us) * 1e-6 + bonus_s * recompute_weight(worth);
      break;
  }
  return score;
}

}  // namespace cascade
