// Percentiles and slopes of small samples that can be checked by hand.
#include "bench/serve/statistics.h"

#include <gtest/gtest.h>

namespace cascade::serve {
namespace {

TEST(ServeStatistics, percentiles_lie_on_the_line_between_samples) {
  EXPECT_EQ(percentile({7}, 0.95), 7);
  EXPECT_EQ(percentile({3, 1, 2}, 0), 1);
  EXPECT_EQ(percentile({3, 1, 2}, 0.5), 2);
  EXPECT_EQ(percentile({3, 1, 2}, 1), 3);
  EXPECT_DOUBLE_EQ(percentile({4, 1, 2, 3}, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile({0, 10, 20, 30, 40}, 0.95), 38);
}

TEST(ServeStatistics, shares_outside_their_range_are_the_extremes) {
  EXPECT_EQ(percentile({1, 2}, -1), 1);
  EXPECT_EQ(percentile({1, 2}, 2), 2);
}

TEST(ServeStatistics, rows_have_the_same_columns_with_and_without_samples) {
  OrderedJson full, empty;
  add_percentiles(full, "ms", {1, 2, 3});
  add_percentiles(empty, "ms", {});
  EXPECT_EQ(full.dump(), R"({"ms_p50":2.0,"ms_p95":2.9,"ms_max":3.0})");
  EXPECT_EQ(empty.dump(), R"({"ms_p50":null,"ms_p95":null,"ms_max":null})");
}

TEST(ServeStatistics, a_ratio_to_nothing_is_none) {
  EXPECT_EQ(ratio(3, 2), OrderedJson(1.5));
  EXPECT_TRUE(ratio(3, 0).is_null());
}

TEST(ServeStatistics, the_slope_is_that_of_the_line_that_fits) {
  EXPECT_DOUBLE_EQ(slope(std::vector<double>{0, 1, 2}, std::vector<double>{5, 7, 9}), 2);
  EXPECT_DOUBLE_EQ(slope(std::vector<double>{0, 1, 2, 3}, std::vector<double>{1, 0, 1, 0}), -0.2);
  EXPECT_EQ(slope(std::vector<double>{4}, std::vector<double>{5}), 0);
  EXPECT_EQ(slope(std::vector<double>{4, 4}, std::vector<double>{5, 6}), 0);
  EXPECT_EQ(slope(std::vector<double>{}, std::vector<double>{}), 0);
}

}  // namespace
}  // namespace cascade::serve
