// Ghosts, the running median, and what is learned from premature evictions.
#include "cache/reuse_monitor.h"

#include <gtest/gtest.h>

#include "base/hash.h"
#include "tests/cache/testing.h"

namespace cascade {
namespace {

using testing::kSecond;

Digest key_of(uint64_t number) {
  return Hasher().field("number", number).finish();
}

TEST(GhostList, remembers_the_latest_evictions_and_no_more) {
  GhostList ghosts(10);
  for (uint64_t i = 0; i < 25; ++i) ghosts.add(key_of(i), {1, static_cast<int64_t>(i)});
  EXPECT_EQ(ghosts.size(), 10u);
  EXPECT_FALSE(ghosts.take(key_of(14)).has_value());
  ASSERT_TRUE(ghosts.take(key_of(15)).has_value());
  EXPECT_FALSE(ghosts.take(key_of(15)).has_value()) << "taken";
  EXPECT_EQ(ghosts.used_since(20), 5u);
}

TEST(GhostList, one_evicted_again_is_as_new_as_its_last_eviction) {
  GhostList ghosts(3);
  for (const uint64_t i : {1, 2, 1, 3, 4}) ghosts.add(key_of(i), {});
  EXPECT_FALSE(ghosts.take(key_of(2)).has_value());
  EXPECT_TRUE(ghosts.take(key_of(1)).has_value());
}

TEST(GhostList, without_room_remembers_nothing) {
  GhostList ghosts(0);
  ghosts.add(key_of(1), {});
  EXPECT_FALSE(ghosts.take(key_of(1)).has_value());
}

TEST(RunningMedian, is_the_initial_value_until_there_is_a_basis_then_follows) {
  RunningMedian median(90);
  for (size_t i = 0; i + 1 < RunningMedian::kStep; ++i) median.add(5);
  EXPECT_EQ(median.value(), 90);
  median.add(5);
  EXPECT_EQ(median.value(), 5);
  for (size_t i = 0; i < RunningMedian::kWindow; ++i) median.add(i % 3 == 0 ? 1000 : 7);
  EXPECT_EQ(median.value(), 7);
}

TEST(ReuseMonitor, tells_premature_evictions_from_others) {
  ReuseMonitor monitor(100);
  monitor.evicted(key_of(1), {});
  monitor.computed(key_of(2));
  EXPECT_EQ(monitor.premature_evictions(), 0);
  monitor.computed(key_of(1));
  EXPECT_EQ(monitor.premature_evictions(), 1);
  monitor.computed(key_of(1));
  EXPECT_EQ(monitor.premature_evictions(), 1) << "once for each eviction";
  EXPECT_EQ(monitor.misses(), 3);
}

TEST(ReuseMonitor, a_cyclic_scan_of_many_times_the_cache_raises_the_alarm_in_the_second_cycle) {
  constexpr size_t kPages = 100;
  for (const size_t times : {size_t{2}, size_t{10}, size_t{60}}) {
    ReuseMonitor monitor(kPages);
    const uint64_t cycle = kPages * times;
    for (uint64_t access = 0; access < 2 * cycle; ++access) {
      if (access == cycle) {
        EXPECT_FALSE(monitor.thrash().alarm()) << times;
      }
      monitor.computed(key_of(access % cycle));
      if (access >= kPages) monitor.evicted(key_of((access - kPages) % cycle), {});
    }
    EXPECT_TRUE(monitor.thrash().alarm()) << times;
  }
}

TEST(ReuseMonitor, the_bonus_is_the_median_gap_between_uses) {
  ReuseMonitor monitor(100);
  EXPECT_EQ(monitor.bonus_s(EvictionPolicy::kHybrid), ReuseMonitor::kReuseGapInitialSeconds);
  for (int i = 0; i < 64; ++i) monitor.reused(30 * kSecond);
  EXPECT_EQ(monitor.bonus_s(EvictionPolicy::kHybrid), 30);
}

TEST(ReuseMonitor,
     the_adaptive_bonus_grows_when_costly_pages_were_lost_and_shrinks_when_cheap_ones) {
  const auto after = [](int64_t lost_position) {
    ReuseMonitor monitor(10'000);
    for (uint64_t i = 0; i < 1000; ++i) {
      PageWorth worth;
      worth.position = i % 2 == 0 ? 0 : 64'000;
      monitor.evicted(key_of(i), worth);
    }
    for (uint64_t i = 0; i < 1000; ++i) {
      if ((i % 2 == 0) == (lost_position == 0)) monitor.computed(key_of(i));
    }
    EXPECT_EQ(monitor.bonus_s(EvictionPolicy::kHybrid), ReuseMonitor::kReuseGapInitialSeconds);
    return monitor.bonus_s(EvictionPolicy::kAdaptive);
  };
  EXPECT_GT(after(64'000), 2 * ReuseMonitor::kReuseGapInitialSeconds);
  EXPECT_LT(after(0), ReuseMonitor::kReuseGapInitialSeconds / 2);
}

}  // namespace
}  // namespace cascade
