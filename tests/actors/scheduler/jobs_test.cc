// Tables of jobs that actors have not answered yet, and what happens to them when an actor is
// restarted.
#include "actors/scheduler/jobs.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

class JobsTest : public ::testing::Test {
 protected:
  using Words = PendingJobs<std::string>;

  Words::Lost tell(const std::string& table) {
    return [this, table](Words::All&& lost) {
      std::string told = table + ":";
      for (const auto& [number, word] : lost) told += " " + word;
      told_.push_back(told);
    };
  }

  Jobs jobs_;
  Words reads_{jobs_, {.actor = Actor::kStore}, tell("reads")};
  Words checks_{jobs_, {.actor = Actor::kStore, .is_long = true}, tell("checks")};
  Words writes_{jobs_, {.actor = Actor::kStore, .delays_stop = true}, tell("writes")};
  Words slices_{jobs_, {.actor = Actor::kPrefill}, tell("slices")};
  std::vector<std::string> told_;
};

TEST_F(JobsTest, are_taken_once) {
  const uint64_t first = jobs_.next();
  const uint64_t second = jobs_.next();
  EXPECT_LT(first, second);
  reads_.put(first, "one");
  reads_.put(second, "two");
  ASSERT_NE(reads_.front(), nullptr);
  EXPECT_EQ(*reads_.front(), "one") << "the oldest";
  EXPECT_EQ(writes_.take(first), std::nullopt) << "another table's";
  EXPECT_EQ(reads_.take(first), "one");
  EXPECT_EQ(reads_.take(first), std::nullopt);
  EXPECT_EQ(reads_.size(), 1u);
  reads_.erase_if([](const std::string& word) { return word == "two"; });
  EXPECT_TRUE(reads_.empty());
  EXPECT_EQ(reads_.front(), nullptr);
}

TEST_F(JobsTest, are_owed_by_their_actor) {
  EXPECT_FALSE(jobs_.owes(Actor::kStore));
  slices_.put(1, "one");
  EXPECT_FALSE(jobs_.owes(Actor::kStore));
  EXPECT_TRUE(jobs_.owes(Actor::kPrefill));
  reads_.put(2, "two");
  EXPECT_TRUE(jobs_.owes(Actor::kStore));
}

TEST_F(JobsTest, that_may_take_long_are_not_owed_soon) {
  checks_.put(1, "one");
  EXPECT_FALSE(jobs_.owes(Actor::kStore));
}

TEST_F(JobsTest, delay_a_stop_only_where_their_kind_says_so) {
  reads_.put(1, "one");
  checks_.put(2, "two");
  EXPECT_FALSE(jobs_.delay_stop());
  writes_.put(3, "three");
  EXPECT_TRUE(jobs_.delay_stop());
  writes_.take(3);
  EXPECT_FALSE(jobs_.delay_stop());
}

TEST_F(JobsTest, are_lost_with_their_actor_table_by_table) {
  writes_.put(1, "one");
  reads_.put(2, "two");
  reads_.put(3, "three");
  slices_.put(4, "four");
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(told_, (std::vector<std::string>{"reads: two three", "checks:", "writes: one"}));
  EXPECT_TRUE(reads_.empty());
  EXPECT_EQ(slices_.size(), 1u);
}

TEST_F(JobsTest, can_be_asked_for_again_while_they_are_lost) {
  PendingJobs<int> again(jobs_, {.actor = Actor::kDecode}, [&](std::map<uint64_t, int>&& lost) {
    for (const auto& [number, job] : lost) again.put(jobs_.next() + 100, job);
  });
  again.put(1, 7);
  jobs_.lose(Actor::kDecode);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(*again.front(), 7);
  EXPECT_FALSE(again.contains(1));
}

}  // namespace
}  // namespace cascade
