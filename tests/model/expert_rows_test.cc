// Rows sorted by expert, and cut into parts.
#include "model/expert_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

using Group = ExpertRows::Group;

std::vector<Group> part_of(const ExpertRows& rows, int part) {
  const auto groups = rows.part(part);
  return {groups.begin(), groups.end()};
}

TEST(ExpertRows, are_in_the_order_of_experts_and_then_of_rows) {
  ExpertRows rows;
  rows.sort(std::vector<ChosenExpert>{{1, 0.1f}, {3, 0.2f}, {0, 0.3f}, {1, 0.4f}}, 2, 4, 10);
  ASSERT_EQ(rows.parts(), 1);
  EXPECT_EQ(part_of(rows, 0), (std::vector<Group>{{0, 0, 1}, {1, 1, 2}, {3, 3, 1}}));
  const std::vector<int> expected_rows = {1, 0, 1, 0};
  const std::vector<float> expected_weights = {0.3f, 0.1f, 0.4f, 0.2f};
  for (int use = 0; use < 4; ++use) {
    EXPECT_EQ(rows.row(use), expected_rows[static_cast<size_t>(use)]);
    EXPECT_EQ(rows.rows()[use], rows.row(use));
    EXPECT_EQ(rows.weight(use), expected_weights[static_cast<size_t>(use)]);
  }
}

TEST(ExpertRows, without_rows_there_are_no_parts) {
  ExpertRows rows;
  rows.sort(std::vector<ChosenExpert>{{0, 1}}, 1, 2, 10);
  EXPECT_EQ(rows.parts(), 1);
  rows.sort({}, 0, 2, 10);
  EXPECT_EQ(rows.parts(), 0);
}

TEST(ExpertRows, an_expert_is_in_one_part_if_it_fits) {
  ExpertRows rows;
  std::vector<ChosenExpert> chosen;
  for (const int expert : {0, 0, 0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 3}) chosen.push_back({expert, 1});
  rows.sort(chosen, 13, 4, 4);
  ASSERT_EQ(rows.parts(), 4);
  EXPECT_EQ(part_of(rows, 0), (std::vector<Group>{{0, 0, 3}}));
  EXPECT_EQ(part_of(rows, 1), (std::vector<Group>{{1, 3, 2}}));
  EXPECT_EQ(part_of(rows, 2), (std::vector<Group>{{2, 5, 4}}));
  EXPECT_EQ(part_of(rows, 3), (std::vector<Group>{{2, 9, 3}, {3, 12, 1}}));
}

TEST(ExpertRows, parts_hold_every_use_once) {
  Random random(test_seed());
  ExpertRows rows;
  for (int round = 0; round < 100; ++round) {
    const int count = 1 + static_cast<int>(random.below(60));
    const int experts = 2 + static_cast<int>(random.below(20)), part_uses = 8;
    std::vector<ChosenExpert> chosen;
    std::multiset<std::pair<int, int>> expected;
    for (int row = 0; row < count; ++row) {
      const int first = static_cast<int>(random.below(static_cast<uint64_t>(experts) - 1));
      chosen.push_back({first, 0.25f});
      chosen.push_back({first + 1, 0.75f});
      expected.insert({{first, row}, {first + 1, row}});
    }
    rows.sort(chosen, count, experts, part_uses);
    std::multiset<std::pair<int, int>> found;
    int next = 0;
    for (int part = 0; part < rows.parts(); ++part) {
      int uses = 0;
      for (const Group& group : rows.part(part)) {
        ASSERT_EQ(group.begin, next);
        ASSERT_GT(group.count, 0);
        for (int i = 0; i < group.count; ++i) found.insert({group.expert, rows.row(next++)});
        uses += group.count;
      }
      ASSERT_LE(uses, part_uses);
    }
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace cascade::testing
