// Repeated measurements: which runs are counted, and which of the samples are reported.
#include "bench/speed/samples.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace cascade::speed {
namespace {

TEST(Samples, median_and_extremes_of_ascending_seconds) {
  const Samples odd = {{1, 2, 7}};
  EXPECT_EQ(odd.median(), 2);
  EXPECT_EQ(odd.fastest(), 1);
  EXPECT_EQ(odd.slowest(), 7);
  EXPECT_EQ((Samples{{1, 2, 3, 9}}).median(), 2.5);
  const Samples single = {{5}};
  EXPECT_EQ(single.median(), 5);
  EXPECT_EQ(single.fastest(), 5);
  EXPECT_EQ(single.slowest(), 5);
}

TEST(Samples, measure_runs_once_unmeasured_and_then_as_often_as_asked) {
  for (const int repeats : {1, 2, 5}) {
    int runs = 0;
    const Samples samples = measure(repeats, 0, [&] { ++runs; });
    EXPECT_GE(runs, repeats + 1);
    EXPECT_GE(samples.seconds.size(), static_cast<size_t>(repeats));
    EXPECT_EQ(samples.seconds.size(), static_cast<size_t>(runs) - 1);
    EXPECT_TRUE(std::ranges::is_sorted(samples.seconds));
    EXPECT_GE(samples.fastest(), 0) << "the clock never goes back";
  }
}

TEST(Samples, measure_goes_on_until_the_seconds_have_passed) {
  const double begin = now_s();
  const Samples samples = measure(1, 0.001, [] {});
  EXPECT_GE(now_s() - begin, 0.001);
  EXPECT_GE(samples.seconds.size(), 1u);
}

}  // namespace
}  // namespace cascade::speed
