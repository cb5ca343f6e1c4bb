// Addresses of the slots that a job names.
#include "actors/job_state_slots.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

const float* at(const PageArena& arena, PageIndex slot) {
  return reinterpret_cast<const float*>(arena.data(slot));
}

TEST(JobStateSlots, a_model_without_recurrent_layers_has_none) {
  const JobStateSlots states(nullptr, std::nullopt);
  Slice slice;
  states.put_into(slice);
  EXPECT_EQ(slice.state_from, nullptr);
  EXPECT_EQ(slice.state_to, nullptr);
  EXPECT_TRUE(slice.kept_states.empty());
}

TEST(JobStateSlots, a_slice_goes_on_from_the_one_before) {
  const PageArena arena = *PageArena::create(4096, 4);
  JobStateSlots states(&arena, wire::JobStates{.from = 2, .to = 0});
  Slice slice;
  states.put_into(slice);
  EXPECT_EQ(slice.state_from, at(arena, 2));
  EXPECT_EQ(slice.state_to, at(arena, 0));
  states.advance();
  states.put_into(slice);
  EXPECT_EQ(slice.state_from, at(arena, 0));
  EXPECT_EQ(slice.state_to, at(arena, 0));
}

TEST(JobStateSlots, the_first_slice_of_a_chain_has_no_state_before_it) {
  const PageArena arena = *PageArena::create(4096, 4);
  const JobStateSlots states(&arena, wire::JobStates{.from = {}, .to = 3});
  Slice slice;
  states.put_into(slice);
  EXPECT_EQ(slice.state_from, nullptr);
  EXPECT_EQ(slice.state_to, at(arena, 3));
}

TEST(JobStateSlots, states_in_between_are_kept) {
  const PageArena arena = *PageArena::create(4096, 4);
  const JobStateSlots states(
      &arena, wire::JobStates{.from = 2, .to = 0, .kept_after = {5, 9}, .kept = {3, 1}});
  Slice slice;
  states.put_into(slice);
  ASSERT_EQ(slice.kept_states.size(), 2u);
  EXPECT_EQ(slice.kept_states[0].tokens, 5);
  EXPECT_EQ(slice.kept_states[0].state, at(arena, 3));
  EXPECT_EQ(slice.kept_states[1].tokens, 9);
  EXPECT_EQ(slice.kept_states[1].state, at(arena, 1));
}

}  // namespace
}  // namespace cascade
