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

// A later prompt cannot go on from a state after the token at which it leaves the chain.
TEST(KeptPoints, a_fork_shortly_before_the_end_is_one_of_them) {
  using Points = std::vector<KeptPoint>;
  EXPECT_EQ(kept_points({.begin = 0, .tokens = 601, .fork = 590, .resumes = 600}, 0, 601),
            (Points{{590, Worth::kEnd}, {600, Worth::kEnd}}));
  EXPECT_EQ(kept_points({.begin = 0, .tokens = 601, .fork = 600, .resumes = 590}, 0, 601),
            (Points{{590, Worth::kEnd}}))
      << "a prompt that leaves the chain at 600 goes on from 590";
  EXPECT_EQ(kept_points({.begin = 0, .tokens = 2000, .fork = 1030, .resumes = 1999}, 0, 2000),
            (Points{{1030, Worth::kEnd}, {1999, Worth::kEnd}}))
      << "the waypoint at 1024 would save nearly nothing";
}

TEST(KeptPoints, a_growing_chain_passes_waypoints) {
  EXPECT_FALSE(passes_waypoint(0, kWaypointTokens - 1));
  EXPECT_TRUE(passes_waypoint(kWaypointTokens - 1, kWaypointTokens));
  EXPECT_FALSE(passes_waypoint(kWaypointTokens, kWaypointTokens + 5));
  EXPECT_TRUE(passes_waypoint(10, 3 * kWaypointTokens));
}

TEST(KeptPoints, a_chain_that_grows_long_passes_few) {
  int passed = 0;
  for (int64_t position = 0; position < 30'000; position += 10) {
    passed += passes_waypoint(position, position + 10);
  }
  EXPECT_GE(passed, 8);
  EXPECT_LE(passed, 20);
}

TEST(KeptPoints, of_a_long_chain_are_few) {
  const ChainPlan plan = {.begin = 0, .tokens = 200'000, .resumes = 199'999};
  const size_t count = kept_points(plan, 0, 200'000).size();
  EXPECT_GE(count, 5u);
  EXPECT_LE(count, static_cast<size_t>(kWaypointsMax) + 2);
}

}  // namespace
}  // namespace cascade::testing
