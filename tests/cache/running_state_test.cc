// Slots of jobs, and which states become checkpoints.
#include "cache/running_state.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/cache/chain_memory.h"

namespace cascade::testing {
namespace {

using Worth = StateTable::Worth;

class RunningStateTest : public ::testing::Test {
 protected:
  RunningStateTest() {
    for (int32_t i = 0; i < 300; ++i) chain_.push_back(i);
  }
  // A job that computes the tokens up to `end`.
  RunningState::Slots compute(RunningState& state, ChainSequence& sequence, int64_t end,
                              const std::vector<KeptPoint>& points = {}) {
    const auto slots = state.next_job(end, points);
    EXPECT_TRUE(slots);
    const auto begin = static_cast<size_t>(sequence.committed());
    EXPECT_TRUE(memory_.compute(
        sequence, std::span(chain_).subspan(begin, static_cast<size_t>(end) - begin), 1));
    state.advanced(end);
    state.settle(sequence, 1);
    return slots.value_or(RunningState::Slots());
  }
  // The sequence begins, computes the tokens up to `end`, and leaves a checkpoint there. Returns
  // its slot.
  std::optional<RunningState::Slot> keep_at(RunningState& state, ChainSequence& sequence,
                                            int64_t end) {
    EXPECT_TRUE(state.begin({}, 1));
    const auto slots = compute(state, sequence, end);
    state.keep(Worth::kEnd);
    state.settle(sequence, 1);
    return slots.to;
  }
  // Other sequences use all slots that are free.
  void use_free_slots() {
    while (states_.slots_used() < states_.slots()) ASSERT_TRUE(states_.allocate());
  }
  int64_t found() { return states_.find(memory_.tenant, chain_).tokens; }

  ChainMemory memory_{64};
  StateTable states_{4, memory_.index};
  Tokens chain_;
};

TEST_F(RunningStateTest, jobs_write_to_one_slot_while_nobody_else_needs_it) {
  RunningState state(states_);
  const auto sequence = memory_.sequence();
  ASSERT_TRUE(state.begin({}, 1));
  const auto first = compute(state, *sequence, 64), second = compute(state, *sequence, 100);
  EXPECT_EQ(first.from, std::nullopt);
  EXPECT_EQ(second.from, first.to);
  EXPECT_EQ(second.to, first.to);
  EXPECT_EQ(states_.slots_used(), 1u);
}

TEST_F(RunningStateTest, a_kept_state_is_not_written_to) {
  RunningState state(states_);
  const auto sequence = memory_.sequence();
  const auto first = keep_at(state, *sequence, 64);
  EXPECT_EQ(found(), 64);
  const auto second = compute(state, *sequence, 100);
  EXPECT_EQ(second.from, first);
  EXPECT_NE(second.to, first);
  EXPECT_EQ(states_.find(memory_.tenant, chain_).slot, first);
}

TEST_F(RunningStateTest, a_state_becomes_a_checkpoint_when_the_index_has_its_tokens) {
  const auto sequence = memory_.sequence();
  {
    RunningState state(states_);
    ASSERT_TRUE(state.begin({}, 1));
    const auto slots = compute(state, *sequence, 100, {{30, Worth::kEnd}, {90, Worth::kEnd}});
    ASSERT_EQ(slots.kept.size(), 2u);
    EXPECT_EQ(found(), 30) << "the page of token 90 is not full yet";
    sequence->finish(1);
    state.settle(*sequence, 1);
    EXPECT_EQ(found(), 90);
  }
  EXPECT_EQ(states_.slots_used(), 2u);
}

TEST_F(RunningStateTest, what_a_failed_job_left_is_given_up) {
  const auto sequence = memory_.sequence();
  {
    RunningState state(states_);
    ASSERT_TRUE(state.begin({}, 1));
    const std::vector<KeptPoint> points = {{30, Worth::kEnd}};
    ASSERT_TRUE(state.next_job(64, points));
    state.keep(Worth::kEnd);
    sequence->finish(1);
    state.settle(*sequence, 1);
  }
  EXPECT_EQ(states_.slots_used(), 0u);
}

TEST_F(RunningStateTest, goes_on_without_its_checkpoint_if_there_is_no_room_for_both) {
  const auto sequence = memory_.sequence();
  RunningState state(states_);
  const auto first = keep_at(state, *sequence, 64);
  use_free_slots();
  const auto second = compute(state, *sequence, 100, {{70, Worth::kEnd}});
  EXPECT_EQ(second.from, first);
  EXPECT_EQ(second.to, first);
  EXPECT_TRUE(second.kept.empty());
  EXPECT_EQ(found(), 0);
}

TEST_F(RunningStateTest, waits_while_others_have_all_slots) {
  RunningState state(states_);
  while (states_.allocate()) {
  }
  EXPECT_FALSE(state.begin({}, 1));
}

TEST_F(RunningStateTest, begins_in_the_slot_of_its_checkpoint_if_no_other_is_left) {
  const auto sequence = memory_.sequence();
  {
    RunningState state(states_);
    keep_at(state, *sequence, 64);
  }
  const StateTable::Start start = states_.find(memory_.tenant, chain_);
  ASSERT_EQ(start.tokens, 64);
  use_free_slots();
  ASSERT_TRUE(states_.has_room());
  RunningState state(states_);
  ASSERT_TRUE(state.begin(start, 1));
  EXPECT_EQ(found(), 0) << "the checkpoint was dropped";
  const auto slots = compute(state, *sequence, 100);
  EXPECT_EQ(slots.from, start.slot);
  EXPECT_EQ(slots.to, start.slot);
}

TEST_F(RunningStateTest, does_not_write_where_another_sequence_reads) {
  const auto sequence = memory_.sequence();
  RunningState state(states_);
  keep_at(state, *sequence, 64);
  RunningState other(states_);
  ASSERT_TRUE(other.begin(states_.find(memory_.tenant, chain_), 1));
  use_free_slots();
  EXPECT_FALSE(state.next_job(100)) << "the other one reads the only slot that could be written to";
  state.keep(Worth::kEnd);
  state.settle(*sequence, 1);
  EXPECT_EQ(found(), 64) << "the state is not lost";
}

TEST_F(RunningStateTest, a_waypoint_is_not_kept_in_the_place_of_an_end) {
  const auto sequence = memory_.sequence();
  RunningState state(states_);
  ASSERT_TRUE(state.begin({}, 1));
  compute(state, *sequence, 128, {{64, Worth::kEnd}});
  use_free_slots();
  EXPECT_TRUE(compute(state, *sequence, 192, {{150, Worth::kWaypoint}}).kept.empty());
  EXPECT_EQ(compute(state, *sequence, 256, {{200, Worth::kEnd}}).kept.size(), 1u);
}

}  // namespace
}  // namespace cascade::testing
