// The alarm: on in a cyclic scan, off in ordinary traffic, and off again when the scan is over.
#include "cache/thrash_detector.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

constexpr size_t kPages = 800;

void add(ThrashDetector& detector, int hits, int misses, int refaults) {
  for (int i = 0; i < hits; ++i) detector.add_hit();
  for (int i = 0; i < misses; ++i) detector.add_miss(i < refaults, i < refaults);
}

TEST(ThrashDetector, nothing_but_refaults_raise_it_within_a_window) {
  ThrashDetector detector(kPages);
  add(detector, 0, kPages, 0);  // the first cycle
  EXPECT_FALSE(detector.alarm());
  add(detector, 0, kPages, kPages);
  EXPECT_TRUE(detector.alarm());
  EXPECT_EQ(detector.alarms(), 1);
  EXPECT_GT(detector.refault_share(), 0.95);
}

TEST(ThrashDetector, refaults_of_long_ago_raise_it_if_there_is_nothing_else) {
  ThrashDetector detector(kPages);
  const auto add_far = [&](int count, int hits) {
    for (int i = 0; i < count; ++i) detector.add_miss(false, true);
    add(detector, hits, 0, 0);
  };
  for (int i = 0; i < 10; ++i) add_far(97, 3);
  for (int i = 0; i < 10; ++i) add_far(97, 3);
  EXPECT_FALSE(detector.alarm());
  add_far(2 * kPages, 0);
  EXPECT_TRUE(detector.alarm());
  add(detector, 0, kPages, 0);
  EXPECT_FALSE(detector.alarm());
}

TEST(ThrashDetector, hits_and_new_pages_keep_it_off) {
  ThrashDetector detector(kPages);
  for (int i = 0; i < 100; ++i) add(detector, 20, 80, 80);
  EXPECT_FALSE(detector.alarm());
  for (int i = 0; i < 100; ++i) add(detector, 0, 100, 80);
  EXPECT_FALSE(detector.alarm());
}

TEST(ThrashDetector, hits_do_not_end_it_but_other_misses_do) {
  ThrashDetector detector(kPages);
  add(detector, 0, 2 * kPages, 2 * kPages);
  ASSERT_TRUE(detector.alarm());
  for (int i = 0; i < 100; ++i) add(detector, 50, 50, 50);  // the reaction works
  EXPECT_TRUE(detector.alarm());
  for (int i = 0; i < 100; ++i) add(detector, 50, 50, 20);
  EXPECT_FALSE(detector.alarm());
  EXPECT_EQ(detector.alarms(), 1);
}

TEST(ThrashDetector, a_window_without_misses_ends_it) {
  ThrashDetector detector(kPages);
  add(detector, 0, 2 * kPages, 2 * kPages);
  ASSERT_TRUE(detector.alarm());
  add(detector, 2 * kPages, 0, 0);
  EXPECT_FALSE(detector.alarm());
}

TEST(ThrashDetector, caches_of_any_size_have_a_window) {
  for (const size_t pages : {size_t{0}, size_t{1}, size_t{17}, size_t{1} << 30}) {
    ThrashDetector detector(pages);
    add(detector, 0, 20'000, 20'000);
    EXPECT_TRUE(detector.alarm()) << pages;
  }
}

}  // namespace
}  // namespace cascade
