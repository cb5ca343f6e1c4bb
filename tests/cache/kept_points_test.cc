// Where the states of a prompt are kept.
#include "cache/kept_points.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade::testing {
namespace {

using Worth = StateTable::Worth;

TEST(KeptPoints, are_at_the_end_of_a_history_at_forks_and_on_the_way) {
  using Points = std::vector<KeptPoint>;
  const ChainPlan plan = {.begin = 0, .tokens = 3000, .fork = 700, .resumes = 2990};
  EXPECT_EQ(kept_points(plan, 0, 512), Points());
  EXPECT_EQ(kept_points(plan, 512, 1024), (Points{{700, Worth::kEnd}, {1024, Worth::kWaypoint}}));
  EXPECT_EQ(kept_points(plan, 1024, 2047), Points());
  EXPECT_EQ(kept_points(plan, 2048, 3000), (Points{{2990, Worth::kEnd}}));
  EXPECT_EQ(kept_points(plan, 2990, 3000), Points());
}

TEST(KeptPoints, are_not_close_to_one_another) {
  using Points = std::vector<KeptPoint>;
  EXPECT_EQ(kept_points({.begin = 680, .tokens = 900, .fork = 700, .resumes = 899}, 680, 900),
            (Points{{899, Worth::kEnd}}))
      << "nearly nothing would be saved";
  EXPECT_EQ(kept_points({.begin = 0, .tokens = 1030, .fork = 1029, .resumes = 1029}, 0, 1030),
            (Points{{1029, Worth::kEnd}}));
}

TEST(KeptPoints, a_growing_chain_passes_waypoints) {
  EXPECT_FALSE(passes_waypoint(0, kWaypointTokens - 1));
  EXPECT_TRUE(passes_waypoint(kWaypointTokens - 1, kWaypointTokens));
  EXPECT_FALSE(passes_waypoint(kWaypointTokens, kWaypointTokens + 5));
  EXPECT_TRUE(passes_waypoint(10, 3 * kWaypointTokens));
}

TEST(KeptPoints, of_a_long_chain_are_few) {
  const ChainPlan plan = {.begin = 0, .tokens = 200'000, .resumes = 199'999};
  const size_t count = kept_points(plan, 0, 200'000).size();
  EXPECT_GE(count, 5u);
  EXPECT_LE(count, static_cast<size_t>(kWaypointsMax) + 2);
}

}  // namespace
}  // namespace cascade::testing
