// How many drafts a round has, by the times of earlier passes.
#include "model/draft_pace.h"

#include <gtest/gtest.h>

#include "model/transformer.h"

namespace cascade {
namespace {

constexpr AttentionMode kDrafts = {0, 0, 4096, 0};
constexpr int64_t kDeep = 100'000;

// Some record of drafts that were all right.
DraftRecord all_right() {
  DraftRecord record;
  for (int i = 0; i < 20; ++i) note_round(record, 8, 8);
  return record;
}

class DraftPaces : public ::testing::Test {
 protected:
  DraftPaces() {
    config_.layers = 4;
    config_.query_heads = 4;
    config_.kv_heads = 2;
    config_.head_dim = 64;
    config_.window = {0, 0, 0, 512};
  }
  DraftPace pace() const { return {config_, kv_layout(config_, KvType::kInt8), 1 << 20}; }

  ModelConfig config_;
};

TEST_F(DraftPaces, are_0_until_a_dense_step_was_measured) {
  DraftPace pace = this->pace();
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
  pace.note(kDrafts, 1, kDeep, 100);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
  pace.note({}, 1, kDeep, 10'000);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), kDraftsMax);
}

// Requests that always run together never have a dense step alone.
TEST_F(DraftPaces, of_sequences_together_wait_for_no_measurement) {
  DraftPace pace = this->pace();
  EXPECT_GT(pace.drafts(all_right(), kDrafts, kDeep, false), 0);
  pace.note({}, 1, kDeep, 10'000);
  for (int i = 0; i < 100; ++i) pace.note({}, 16, kDeep, 20'000);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
  EXPECT_GT(pace.drafts(all_right(), kDrafts, kDeep, false), 0);
}

TEST_F(DraftPaces, are_tried_again_after_many_dense_steps) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  pace.note(kDrafts, 1, kDeep, 20'000);
  int steps = 1;
  for (; pace.drafts(all_right(), kDrafts, kDeep, true) == 0; ++steps) {
    pace.note({}, 1, kDeep, 10'000);
  }
  EXPECT_EQ(steps, 200);
  pace.note({}, 2, kDeep, 12'000);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
}

TEST_F(DraftPaces, are_0_where_nothing_selects) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  EXPECT_GT(pace.drafts(all_right(), kDrafts, 20'000, true), 0);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, 9'000, true), 0);
  EXPECT_EQ(pace.drafts(all_right(), {}, kDeep, true), 0);
  EXPECT_EQ(pace.drafts(all_right(), {0, 0, 4096, 3}, kDeep, true), 0)
      << "the fourth layer has a window";
}

TEST_F(DraftPaces, are_no_more_than_one_reading_of_a_page_can_check) {
  config_.query_heads = 6;
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 9) << "ten rows of three heads are 30";
}

TEST_F(DraftPaces, a_time_at_one_position_tells_that_at_another) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  pace.note(kDrafts, 1, kDeep, 1'000);
  EXPECT_NEAR(pace.costs(kDrafts, kDeep).draft, 0.1, 0.001);
  EXPECT_NEAR(pace.costs(kDrafts, 2 * kDeep).draft, 0.057, 0.005);
  EXPECT_NEAR(pace.costs(kDrafts, kDeep / 4).draft, 0.35, 0.05);
}

TEST_F(DraftPaces, checks_that_take_long_make_them_fewer) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  pace.note(kDrafts, 1, kDeep, 1'000);
  for (int i = 0; i < 30; ++i) pace.note({}, 9, kDeep, 10'000 + 8 * 500);
  EXPECT_NEAR(pace.costs(kDrafts, kDeep).check_row, 0.05, 0.001);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), kDraftsMax);
  for (int i = 0; i < 30; ++i) {
    pace.note({}, 9, kDeep, 10'000 + 8 * 9'900);
    pace.note({}, 1, kDeep, 10'000);
  }
  EXPECT_NEAR(pace.costs(kDrafts, kDeep).check_row, 0.99, 0.001);
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
}

TEST_F(DraftPaces, pause_for_a_dense_step_now_and_then) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  for (int i = 0; i < 32; ++i) {
    EXPECT_GT(pace.drafts(all_right(), kDrafts, kDeep, true), 0) << i;
    pace.note({}, 16, kDeep, 20'000);
  }
  EXPECT_EQ(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
  pace.note({}, 1, kDeep, 10'000);
  EXPECT_GT(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
}

TEST_F(DraftPaces, of_a_new_generation_depend_on_those_of_others) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  pace.note(kDrafts, 1, kDeep, 1'000);
  const int before = pace.drafts({}, kDrafts, kDeep, true);
  for (int i = 0; i < 50; ++i) pace.note_drafts(9, 0);
  EXPECT_GT(pace.drafts({}, kDrafts, kDeep, true), before);
  for (int i = 0; i < 200; ++i) pace.note_drafts(0, 3);
  EXPECT_EQ(pace.drafts({}, kDrafts, kDeep, true), 0);
  EXPECT_GT(pace.drafts(all_right(), kDrafts, kDeep, true), 0);
}

// A window of a request is neither dense nor a draft.
TEST_F(DraftPaces, do_not_learn_from_other_modes) {
  DraftPace pace = this->pace();
  pace.note({}, 1, kDeep, 10'000);
  const DraftCosts before = pace.costs(kDrafts, kDeep);
  pace.note({4096, 64}, 1, kDeep, 1);
  EXPECT_EQ(pace.costs(kDrafts, kDeep).draft, before.draft);
}

}  // namespace
}  // namespace cascade
