// The arrival process: its rate, its spread, its seed.
#include "bench/serve/arrivals.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/serve/timers.h"

namespace cascade::serve {
namespace {

uint64_t test_seed() {
  const char* given = std::getenv("CASCADE_TEST_SEED");
  return given != nullptr ? std::stoull(given) : system_random();
}

std::vector<double> gaps_s(uint64_t seed, double per_s, int count) {
  Arrivals arrivals(seed, per_s);
  std::vector<double> gaps;
  int64_t last = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t next = arrivals.next_us();
    gaps.push_back(static_cast<double>(next - last) / 1e6);
    last = next;
  }
  return gaps;
}

TEST(ServeArrivals, gaps_are_exponential_with_the_rate_that_was_asked_for) {
  const uint64_t seed = test_seed();
  SCOPED_TRACE("CASCADE_TEST_SEED=" + std::to_string(seed));
  constexpr int kCount = 40'000;
  constexpr double kPerS = 50;
  double sum = 0, squares = 0;
  int over_the_mean = 0;
  for (const double gap : gaps_s(seed, kPerS, kCount)) {
    EXPECT_GE(gap, 0);
    sum += gap;
    squares += gap * gap;
    over_the_mean += gap > 1 / kPerS ? 1 : 0;
  }
  // The tolerances are eight standard deviations of each figure.
  const double mean = sum / kCount;
  EXPECT_NEAR(mean * kPerS, 1, 0.04);
  EXPECT_NEAR((squares / kCount - mean * mean) * kPerS * kPerS, 1, 0.12);
  EXPECT_NEAR(static_cast<double>(over_the_mean) / kCount, std::exp(-1), 0.02);
}

TEST(ServeArrivals, are_the_same_for_the_same_seed) {
  EXPECT_EQ(gaps_s(5, 10, 100), gaps_s(5, 10, 100));
  EXPECT_NE(gaps_s(5, 10, 100), gaps_s(6, 10, 100));
}

TEST(ServeTimers, give_what_is_due_in_order_and_once) {
  Timers timers;
  EXPECT_TRUE(timers.empty());
  EXPECT_EQ(timers.next_us(100), 100);
  timers.add(30, 3);
  timers.add(10, 1);
  timers.add(20, 2);
  timers.add(20, 4);
  EXPECT_EQ(timers.next_us(100), 10);
  EXPECT_EQ(timers.next_us(5), 5);
  EXPECT_EQ(timers.take_due(9), (std::vector<uint64_t>{}));
  EXPECT_EQ(timers.take_due(20), (std::vector<uint64_t>{1, 2, 4}));
  EXPECT_EQ(timers.take_due(20), (std::vector<uint64_t>{}));
  EXPECT_EQ(timers.next_us(100), 30);
  EXPECT_FALSE(timers.empty());
}

}  // namespace
}  // namespace cascade::serve
