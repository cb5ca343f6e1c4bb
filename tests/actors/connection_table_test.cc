// The connection that ends when a door is full: the tenant with the most connections loses the one
// that has been idle for longest.
#include "actors/connection_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int64_t kNow = 1'000'000;

TEST(ConnectionTable, the_silent_one_that_came_first_goes_first) {
  ConnectionTable table;
  EXPECT_EQ(table.next_to_go(kNow), std::nullopt);
  for (ConnectionTable::Id id = 1; id <= 3; ++id) table.add(id, static_cast<int64_t>(id) * 10);
  EXPECT_EQ(table.next_to_go(kNow), 1u);
  table.remove(1);
  EXPECT_EQ(table.next_to_go(kNow), 2u);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.count(""), 2u);
}

TEST(ConnectionTable, who_has_most_makes_room) {
  ConnectionTable table;
  table.add(1, 1);
  table.heard(1, "light", 2);
  for (ConnectionTable::Id id = 2; id <= 4; ++id) {
    table.add(id, 3);
    table.heard(id, "flood", static_cast<int64_t>(id) + 10);
  }
  table.add(5, 20);
  EXPECT_EQ(table.next_to_go(kNow), 2u) << "not the light tenant's, nor the one that has just come";
  table.heard(2, "flood", 30);
  EXPECT_EQ(table.next_to_go(kNow), 3u);
}

TEST(ConnectionTable, who_waits_for_an_answer_stays) {
  ConnectionTable table;
  for (ConnectionTable::Id id = 1; id <= 2; ++id) {
    table.add(id, 1);
    table.heard(id, "a", 2);
  }
  table.set_busy(1, true, 3);
  EXPECT_EQ(table.next_to_go(kNow), 2u);
  table.set_busy(2, true, 4);
  EXPECT_EQ(table.next_to_go(kNow), std::nullopt);
  table.set_busy(1, false, 5);
  EXPECT_EQ(table.next_to_go(kNow), 1u);
  table.add(3, 6);
  EXPECT_EQ(table.next_to_go(kNow), 1u) << "two are more than one, busy or not";
}

TEST(ConnectionTable, who_is_being_answered_stays_until_the_answer_has_left) {
  ConnectionTable table;
  table.add(1, 1);
  table.heard(1, "a", 2);
  table.set_busy(1, true, 3);
  table.set_busy(1, false, 50);
  EXPECT_EQ(table.next_to_go(49), std::nullopt);
  table.heard(1, "a", 10);
  EXPECT_EQ(table.next_to_go(49), std::nullopt) << "what it says meanwhile does not shorten that";
  EXPECT_EQ(table.next_to_go(50), 1u);
}

TEST(ConnectionTable, nobody_goes_for_a_crowd_that_has_just_come) {
  ConnectionTable table;
  table.add(1, 1);
  table.heard(1, "light", 2);
  for (ConnectionTable::Id id = 2; id <= 4; ++id) table.add(id, 100);
  EXPECT_EQ(table.next_to_go(99), std::nullopt);
  EXPECT_EQ(table.next_to_go(100), 2u);
  for (ConnectionTable::Id id = 2; id <= 4; ++id) table.set_busy(id, true, 100);
  EXPECT_EQ(table.next_to_go(99), 1u);
}

TEST(ConnectionTable, one_that_is_not_there_changes_nothing) {
  ConnectionTable table;
  table.heard(7, "a", 1);
  table.set_busy(7, true, 1);
  table.remove(7);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.next_to_go(kNow), std::nullopt);
}

TEST(ConnectionTable, at_random_agrees_with_a_search_through_all) {
  Random random(testing::test_seed());
  struct Known {
    std::string tenant;
    int64_t since;
    bool busy;
  };
  ConnectionTable table;
  std::map<ConnectionTable::Id, Known> all;
  for (int64_t now = 1; now <= 20'000; ++now) {
    const ConnectionTable::Id id = random.below(40);
    const auto known = all.find(id);
    switch (random.below(5)) {
      case 0:
        table.add(id, now);
        all.try_emplace(id, Known{"", now, false});
        break;
      case 1: {
        const std::string tenant(1, static_cast<char>('a' + random.below(4)));
        table.heard(id, tenant, now);
        if (known != all.end()) known->second = {tenant, now, known->second.busy};
        break;
      }
      case 2:
      case 3: {
        const bool busy = random.below(2) == 0;
        table.set_busy(id, busy, now);
        if (known != all.end()) known->second = {known->second.tenant, now, busy};
        break;
      }
      default: table.remove(id); all.erase(id);
    }
    std::map<std::string, size_t> counts;
    for (const auto& [other, entry] : all) ++counts[entry.tenant];
    ASSERT_EQ(table.size(), all.size());
    for (const auto& [tenant, count] : counts) ASSERT_EQ(table.count(tenant), count);
    const auto next = table.next_to_go(kNow);
    size_t most = 0;
    for (const auto& [other, entry] : all) {
      if (!entry.busy) most = std::max(most, counts[entry.tenant]);
    }
    ASSERT_EQ(next.has_value(), most > 0);
    if (!next) continue;
    const Known& goes = all.at(*next);
    ASSERT_FALSE(goes.busy);
    ASSERT_EQ(counts[goes.tenant], most);
    for (const auto& [other, entry] : all) {
      if (entry.tenant == goes.tenant && !entry.busy) {
        ASSERT_LE(goes.since, entry.since);
      }
    }
  }
}

}  // namespace
}  // namespace cascade
