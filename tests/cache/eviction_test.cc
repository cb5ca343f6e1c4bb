// What each policy ranks by.
#include "cache/eviction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"
#include "tests/cache/testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::kSecond;

constexpr int64_t kNow = 1'800'000'000 * kSecond;  // a Unix time
constexpr double kBonus = 90;

PageWorth used_at(int64_t time_us, int64_t hits = 0, int64_t position = 0) {
  return {kPriorityNormal, false, time_us, hits, position};
}

PageScore score(EvictionPolicy policy, const PageWorth& worth) {
  return page_score(policy, worth, kBonus);
}

TEST(Eviction, names_of_policies_go_both_ways) {
  for (const char* name : {"lru", "lfu", "priority", "hybrid", "adaptive"}) {
    const auto policy = eviction_policy_from_string(name);
    ASSERT_TRUE(policy.has_value()) << name;
    EXPECT_EQ(to_string(*policy), name);
  }
  EXPECT_FALSE(eviction_policy_from_string("LRU").has_value());
  EXPECT_FALSE(eviction_policy_from_string("").has_value());
}

TEST(Eviction, lru_knows_nothing_but_the_time_of_use) {
  PageWorth old = used_at(kNow, 1000, 64'000);
  old.priority = kPriorityMax;
  EXPECT_LT(score(EvictionPolicy::kLru, old), score(EvictionPolicy::kLru, used_at(kNow + 1)));
}

TEST(Eviction, lfu_counts_hits_and_among_equals_the_time) {
  EXPECT_LT(score(EvictionPolicy::kLfu, used_at(kNow, 3)),
            score(EvictionPolicy::kLfu, used_at(0, 4)));
  EXPECT_LT(score(EvictionPolicy::kLfu, used_at(kNow, 3)),
            score(EvictionPolicy::kLfu, used_at(kNow + 1, 3)));
}

TEST(Eviction, a_higher_priority_outranks_any_use) {
  for (const EvictionPolicy policy :
       {EvictionPolicy::kPriority, EvictionPolicy::kHybrid, EvictionPolicy::kAdaptive}) {
    PageWorth important = used_at(0);
    important.priority = kPriorityNormal + 1;
    EXPECT_LT(score(policy, used_at(kNow, INT64_MAX, int64_t{1} << 40)), score(policy, important));
    EXPECT_LT(score(policy, used_at(kNow)), score(policy, used_at(kNow + 1000)));
  }
}

TEST(Eviction, a_doubling_of_uses_is_worth_one_bonus) {
  const auto value = [](const PageWorth& worth) {
    return score(EvictionPolicy::kHybrid, worth).value;
  };
  // The computation counts as one use, and each hit as one more: 7 hits are 8 uses, 3 hits are 4.
  EXPECT_NEAR(value(used_at(kNow, 7)) - value(used_at(kNow, 3)), kBonus, 1e-3);
  EXPECT_GT(value(used_at(kNow, 7)), value(used_at(kNow + 89 * kSecond, 3)));
  EXPECT_LT(value(used_at(kNow, 7)), value(used_at(kNow + 91 * kSecond, 3)));
}

TEST(Eviction, deeper_pages_weigh_more) {
  EXPECT_EQ(recompute_weight(used_at(kNow)), 0);
  EXPECT_GT(recompute_weight(used_at(kNow, 2, 6400)), recompute_weight(used_at(kNow, 2, 64)));
}

TEST(Eviction, pages_on_probation_go_first_unless_they_have_a_priority_of_their_own) {
  for (const EvictionPolicy policy : {EvictionPolicy::kHybrid, EvictionPolicy::kAdaptive}) {
    PageWorth fresh = used_at(kNow, 0, 64);
    fresh.on_probation = true;
    EXPECT_LT(score(policy, fresh), score(policy, used_at(0)));
    PageWorth low = used_at(0);
    low.priority = kPriorityMin;
    EXPECT_LT(score(policy, fresh), score(policy, low));
    fresh.priority = kPriorityRetained;
    EXPECT_GT(score(policy, fresh), score(policy, used_at(kNow)));
  }
}

TEST(Eviction, is_finite_and_monotonic_for_any_page) {
  Random random(testing::test_seed());
  for (int i = 0; i < 10'000; ++i) {
    const PageWorth worth = {static_cast<int32_t>(random.below(101)), random.below(2) == 1,
                             static_cast<int64_t>(random() >> random.below(60)),
                             static_cast<int64_t>(random() >> (1 + random.below(60))),
                             static_cast<int64_t>(random() >> (1 + random.below(60)))};
    ASSERT_TRUE(std::isfinite(score(EvictionPolicy::kHybrid, worth).value));
    PageWorth less_used = worth;
    less_used.hits = worth.hits / 2;
    PageWorth nearer = worth;
    nearer.position = worth.position / 2;
    for (const EvictionPolicy policy : {EvictionPolicy::kLfu, EvictionPolicy::kHybrid}) {
      ASSERT_LE(score(policy, less_used), score(policy, worth));
      ASSERT_LE(score(policy, nearer), score(policy, worth));
    }
  }
}

}  // namespace
}  // namespace cascade
