// How many drafts are worth their cost.
#include "model/draft_length.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

constexpr DraftCosts kCheap = {.draft = 0.1, .check_row = 0.05};
constexpr int kMost = 15;
constexpr double kExpected = 0.8;

// A record after `rounds` rounds with `drafted` drafts each, of which `accepted` were right.
DraftRecord after(int rounds, int drafted, int accepted) {
  DraftRecord record;
  for (int i = 0; i < rounds; ++i) note_round(record, drafted, accepted);
  return record;
}

TEST(DraftLength, grows_with_the_share_of_drafts_that_are_right) {
  int last = 0;
  for (const int accepted : {0, 1, 2, 4, 8}) {
    const int length = draft_length(after(20, 8, accepted), kExpected, kCheap, kMost);
    EXPECT_GE(length, last) << accepted;
    last = length;
  }
  EXPECT_GT(last, 8);
  EXPECT_LE(last, kMost);
  EXPECT_EQ(draft_length(after(20, 8, 8), kExpected, kCheap, 5), 5);
  EXPECT_EQ(draft_length(after(20, 8, 8), kExpected, kCheap, 0), 0);
  EXPECT_EQ(draft_length(after(100, 8, 0), kExpected, kCheap, kMost), 0);
}

TEST(DraftLength, is_0_where_drafts_cost_as_much_as_they_save) {
  EXPECT_EQ(draft_length(after(20, 8, 8), kExpected, {.draft = 0.9, .check_row = 0.1}, kMost), 0);
  EXPECT_GT(draft_length(after(20, 8, 8), kExpected, {.draft = 0.5, .check_row = 0.1}, kMost), 0);
}

TEST(DraftLength, begins_as_other_generations_went) {
  EXPECT_EQ(draft_length({}, 0, kCheap, kMost), 0);
  EXPECT_GE(draft_length({}, 0.8, kCheap, kMost), 3);
  EXPECT_LT(draft_length({}, 0.8, kCheap, kMost), draft_length({}, 0.95, kCheap, kMost));
  EXPECT_GT(draft_length(after(20, 8, 8), 0, kCheap, kMost), 8) << "its own record counts more";
}

TEST(DraftLength, tries_again_after_a_while_without_drafts) {
  DraftRecord record = after(100, 4, 0);
  int steps = 0;
  for (; draft_length(record, kExpected, kCheap, kMost) == 0; ++steps) note_round(record, 0, 0);
  EXPECT_EQ(steps, 24);
  EXPECT_EQ(draft_length(record, kExpected, kCheap, kMost), 1);
  note_round(record, 1, 0);
  EXPECT_EQ(draft_length(record, kExpected, kCheap, kMost), 0);
}

TEST(DraftLength, tries_nothing_where_right_drafts_would_not_pay) {
  constexpr DraftCosts kCostly = {.draft = 0.3, .check_row = 0.8};
  DraftRecord record;
  for (int i = 0; i < 1000; ++i) note_round(record, 0, 0);
  EXPECT_EQ(draft_length(record, 1, kCostly, kMost), 0);
}

TEST(DraftLength, recovers_when_drafts_are_right_again) {
  DraftRecord record = after(50, 8, 0);
  int tries = 0;
  for (; draft_length(record, kExpected, kCheap, kMost) < 8; ++tries) {
    const int length = draft_length(record, kExpected, kCheap, kMost);
    note_round(record, length, length);
    ASSERT_LT(tries, 1000);
  }
}

}  // namespace
}  // namespace cascade
