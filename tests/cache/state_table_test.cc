// Checkpoints are found by their chains, and removed with them.
#include "cache/state_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "cache/running_state.h"
#include "tests/cache/chain_memory.h"
#include "tests/cache/testing.h"

namespace cascade::testing {
namespace {

using Worth = StateTable::Worth;
using Slot = StateTable::Slot;

class StateTableTest : public ::testing::Test {
 protected:
  // The index has the chain; nobody uses it.
  void compute(const Tokens& tokens, std::optional<TenantId> owner = {}) {
    const auto sequence = memory_.sequence_of(owner.value_or(memory_.tenant));
    const int64_t known = sequence->reuse(tokens, 1);
    ASSERT_TRUE(memory_.compute(*sequence, std::span(tokens).subspan(known), 1));
    sequence->finish(1);
  }
  // Keeps a state after the first `count` tokens.
  Slot keep(const Tokens& tokens, size_t count, Worth worth = Worth::kEnd, int64_t now_us = 1) {
    const std::optional<Slot> slot = states_.allocate();
    EXPECT_TRUE(slot);
    const auto chain = std::span(tokens).first(count);
    EXPECT_TRUE(states_.keep(memory_.tenant, chain, *slot, worth, now_us));
    states_.release(*slot);
    return *slot;
  }
  StateTable::Start find(const Tokens& tokens) { return states_.find(memory_.tenant, tokens); }

  ChainMemory memory_{64};
  StateTable states_{3, memory_.index};
};

TEST_F(StateTableTest, without_recurrent_layers_all_tokens_can_be_reused) {
  StateTable none(0, memory_.index);
  EXPECT_FALSE(none.is_needed());
  EXPECT_TRUE(none.has_room());
  EXPECT_EQ(none.find(memory_.tenant, count_up(0, 100)).tokens, 100);
  EXPECT_EQ(none.reusable(memory_.tenant, count_up(0, 100)).size(), 100u);
}

TEST_F(StateTableTest, finds_the_deepest_state_of_a_chain) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  EXPECT_EQ(find(chain).tokens, 0);
  const Slot early = keep(chain, 10), whole = keep(chain, 128), late = keep(chain, 150);
  EXPECT_EQ(find(chain).tokens, 150);
  EXPECT_EQ(find(chain).slot, late);
  EXPECT_EQ(find(count_up(0, 149)).slot, whole);
  EXPECT_EQ(find(count_up(0, 127)).slot, early);
  EXPECT_EQ(find(count_up(0, 9)).tokens, 0);
  Tokens other = chain;
  other[140] = -1;
  EXPECT_EQ(find(other).tokens, 128);
  other[5] = -1;
  EXPECT_EQ(find(other).tokens, 0);
}

TEST_F(StateTableTest, keeps_no_state_of_tokens_that_the_index_does_not_have) {
  compute(count_up(0, 100));
  const auto slot = states_.allocate();
  EXPECT_FALSE(states_.keep(memory_.tenant, count_up(0, 101), *slot, Worth::kEnd, 1));
  EXPECT_EQ(states_.counts().checkpoints, 0u);
}

TEST_F(StateTableTest, another_tenant_finds_nothing) {
  const TenantId other = memory_.index.add_tenant(page(1));
  const Tokens chain = count_up(0, 100);
  compute(chain);
  compute(chain, other);
  keep(chain, 30);
  keep(chain, 64);
  EXPECT_EQ(states_.find(other, chain).tokens, 0);
}

TEST_F(StateTableTest, public_states_are_found_by_every_tenant) {
  const Tokens chain = count_up(0, 100);
  compute(chain, kPublic);
  const auto slot = states_.allocate();
  EXPECT_TRUE(states_.keep(kPublic, chain, *slot, Worth::kEnd, 1));
  EXPECT_EQ(find(chain).slot, slot);
}

TEST_F(StateTableTest, a_state_is_kept_once) {
  const Tokens chain = count_up(0, 100);
  compute(chain);
  const Slot first = keep(chain, 90);
  keep(chain, 90);
  EXPECT_EQ(states_.counts().checkpoints, 1u);
  EXPECT_EQ(states_.slots_used(), 1u);
  EXPECT_EQ(find(chain).slot, first);
}

// Whatever removes the last tokens of a state from the index removes the state.
TEST_F(StateTableTest, states_are_removed_with_their_tokens) {
  const Tokens chain = count_up(0, 100);
  compute(chain);
  keep(chain, 64);
  keep(chain, 90);
  memory_.index.drop_subtree(memory_.tenant, chain, 64, Removal::kDeleted);
  states_.sweep();
  EXPECT_EQ(states_.counts().checkpoints, 1u);
  EXPECT_EQ(states_.slots_used(), 1u);
  EXPECT_EQ(find(chain).tokens, 64);
  memory_.index.drop_subtree(memory_.tenant, chain, 0, Removal::kDeleted);
  states_.sweep();
  EXPECT_EQ(states_.slots_used(), 0u);
}

TEST_F(StateTableTest, a_state_in_a_page_stays_while_another_page_has_its_tokens) {
  const Tokens chain = count_up(0, 64);
  Tokens other = chain;
  other[50] = -1;
  compute(chain);
  keep(chain, 40);
  keep(chain, 55);
  compute(other);
  memory_.index.drop_branch(memory_.tenant, chain, 40, Removal::kDead);
  states_.sweep();
  EXPECT_EQ(states_.counts().checkpoints, 1u);
  EXPECT_EQ(find(other).tokens, 40);
}

TEST_F(StateTableTest, waypoints_make_room_first_then_what_was_used_longest_ago) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  keep(chain, 50, Worth::kEnd, 1);
  keep(chain, 100, Worth::kEnd, 2);
  keep(chain, 150, Worth::kWaypoint, 3);
  keep(chain, 180, Worth::kEnd, 4);
  EXPECT_EQ(find(count_up(0, 179)).tokens, 100) << "the waypoint is gone";
  keep(chain, 190, Worth::kEnd, 5);
  EXPECT_EQ(find(count_up(0, 99)).tokens, 0) << "the oldest is gone";
  EXPECT_EQ(states_.counts().dropped, 2u);
}

TEST_F(StateTableTest, those_of_pinned_chains_are_dropped_last) {
  const Tokens pinned = count_up(0, 70), first = count_up(100, 70), second = count_up(200, 70);
  for (const Tokens* chain : {&pinned, &first, &second}) compute(*chain);
  keep(pinned, 70, Worth::kEnd, 1);
  keep(first, 70, Worth::kEnd, 2);
  const ChainIndex::HoldId pin = *memory_.index.hold(memory_.tenant, pinned, 0);
  memory_.index.pin(pin);
  keep(second, 70, Worth::kEnd, 3);
  keep(second, 64, Worth::kEnd, 4);
  EXPECT_EQ(find(first).tokens, 0);
  EXPECT_EQ(find(pinned).tokens, 70);
  keep(first, 70, Worth::kEnd, 5);
  EXPECT_EQ(find(pinned).tokens, 70) << "although it has been unused for longest";
  memory_.index.unpin(pin);
  keep(first, 64, Worth::kEnd, 6);
  EXPECT_EQ(find(pinned).tokens, 0);
}

TEST_F(StateTableTest, tells_which_states_are_not_on_disk) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  const Slot in_page = keep(chain, 150), whole = keep(chain, 128);
  keep(chain, 64, Worth::kWaypoint);
  std::vector<std::pair<Slot, size_t>> told;
  const auto visit = [&] {
    told.clear();
    states_.visit_unstored([&](const StateTable::Unstored& state) {
      told.emplace_back(state.slot, state.tail.size());
      EXPECT_EQ(state.tenant, memory_.tenant);
      return true;
    });
    std::ranges::sort(told);
    return told;
  };
  using Told = std::vector<std::pair<Slot, size_t>>;
  EXPECT_EQ(visit(), (Told{{in_page, 22}, {whole, 0}}));
  states_.mark_stored(whole);
  EXPECT_EQ(visit(), (Told{{in_page, 22}}));
  const uint64_t before = states_.unstored_changes();
  states_.touch(whole, 5);
  EXPECT_NE(states_.unstored_changes(), before);
  EXPECT_EQ(visit().size(), 2u) << "a sequence has begun there";
}

TEST_F(StateTableTest, a_waypoint_where_a_sequence_began_is_as_good_as_an_end) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  const Slot waypoint = keep(chain, 50, Worth::kWaypoint, 1);
  states_.touch(waypoint, 9);
  keep(chain, 100, Worth::kEnd, 2);
  keep(chain, 150, Worth::kEnd, 3);
  keep(chain, 180, Worth::kEnd, 4);
  EXPECT_EQ(find(count_up(0, 99)).slot, waypoint);
}

TEST_F(StateTableTest, a_state_that_a_sequence_reads_stays) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  keep(chain, 50);
  RunningState running(states_);
  ASSERT_TRUE(running.begin(find(chain), 5));
  const auto third = states_.allocate();
  ASSERT_TRUE(third);
  EXPECT_FALSE(states_.allocate());
  EXPECT_EQ(find(chain).tokens, 50);
}

TEST_F(StateTableTest, a_waypoint_costs_no_end) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  for (const size_t count : {50, 100, 150}) keep(chain, count);
  EXPECT_FALSE(states_.allocate(Worth::kWaypoint));
  EXPECT_EQ(states_.counts().checkpoints, 3u);
  EXPECT_TRUE(states_.has_room());
  EXPECT_TRUE(states_.allocate(Worth::kEnd));
  EXPECT_EQ(states_.counts().checkpoints, 2u);
}

TEST_F(StateTableTest, has_room_unless_sequences_use_all_slots) {
  const Tokens chain = count_up(0, 200);
  compute(chain);
  const Slot kept = keep(chain, 100);
  EXPECT_TRUE(states_.allocate());
  EXPECT_TRUE(states_.has_room()) << "one is free";
  EXPECT_TRUE(states_.allocate());
  EXPECT_TRUE(states_.has_room()) << "one is only kept";
  states_.retain(kept);
  EXPECT_FALSE(states_.has_room());
  EXPECT_FALSE(states_.allocate());
}

}  // namespace
}  // namespace cascade::testing
