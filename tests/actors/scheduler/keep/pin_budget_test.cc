// Pages that pins may keep.
#include "actors/scheduler/keep/pin_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;

class PinBudgetTest : public testing::KeepTest {};

TEST_F(PinBudgetTest, counts_what_is_pinned_and_what_is_promised) {
  EXPECT_EQ(budget_.pages_max(), 10);
  EXPECT_TRUE(budget_.check("pinned", 10).ok());
  ChunkEntry& waiting = output("a", 4);
  budget_.promise(waiting, 4);
  auto request = std::make_unique<Request>();
  request->handle = 1;
  request->pin_promised = 3;
  requests_.add(std::move(request));
  EXPECT_EQ(budget_.pages_promised(), 7);
  EXPECT_TRUE(budget_.check("pinned", 3).ok());
  const Status refused = budget_.check("pinned", 4);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(refused.error().field, "pinned");
  EXPECT_NE(refused.error().message.find("--max-pinned"), std::string::npos);
  EXPECT_TRUE(budget_.check("pinned", 0).ok()) << "it keeps nothing that is not kept already";
  budget_.end_waiting(waiting);
  EXPECT_TRUE(budget_.check("pinned", 7).ok());
}

TEST_F(PinBudgetTest, a_chunk_that_waits_may_have_no_promise) {
  ChunkEntry& entry = output("a", 4);
  EXPECT_FALSE(budget_.is_waiting(entry));
  budget_.wait(entry);
  EXPECT_TRUE(budget_.is_waiting(entry));
  EXPECT_TRUE(budget_.any_waiting());
  EXPECT_FALSE(budget_.has_promise(entry));
  budget_.promise(entry, 4);
  budget_.wait(entry);
  EXPECT_TRUE(budget_.has_promise(entry)) << "it keeps what it was promised";
  budget_.end_waiting(entry);
  EXPECT_FALSE(budget_.any_waiting());
}

TEST_F(PinBudgetTest, knows_the_pages_of_a_chunk_in_memory_on_disk_and_on_their_way) {
  EXPECT_EQ(budget_.pages_of(output("z", 3)), 3);
  ChunkEntry& held = held_output("a", 3);
  EXPECT_EQ(budget_.pages_of(held), 3);
  memory_.index.pin(*held.hold);
  EXPECT_EQ(budget_.pages_of(held), 0) << "its own pin keeps them already";
  ChunkEntry& stored = add("b", ChunkType::kOutput, count_up(0, 100));
  stored.chunk.kv_key = Hasher().field("page", "b").finish().hex();
  stored.chunk.kv_begin = 64;
  EXPECT_EQ(budget_.pages_of(stored), 3) << "what it says of itself";
  stored_.add(*Digest::from_hex(stored.chunk.kv_key), key_of(memory_.index.root()), kPageTokens);
  EXPECT_EQ(budget_.pages_of(stored), 1) << "what the disk has";
  ChunkEntry& tokenized = add("c", ChunkType::kOutput);
  Reprefill history;
  history.tenant = "alice";
  history.chunk_id = "c";
  history.sampled_chain = count_up(0, 65);
  idle_.tokenize({}, std::move(history));
  EXPECT_EQ(budget_.pages_of(tokenized), 2);
  EXPECT_EQ(budget_.pages_of(add("d", ChunkType::kSystemPrompt, count_up(0, 40))), 2)
      << "with what the template adds";
  EXPECT_EQ(budget_.pages_of(add("e", ChunkType::kContext, count_up(0, 40))), 0);
}

TEST_F(PinBudgetTest, held_pages_need_room_among_those_that_are_pinned) {
  ChunkEntry& first = held_output("a", 6);
  ChunkEntry& second = held_output("b", 6);
  EXPECT_TRUE(budget_.has_room_for_held(first));
  memory_.index.pin(*first.hold);
  EXPECT_FALSE(budget_.has_room_for_held(second));
  budget_.set_max_pinned(0.6);
  EXPECT_TRUE(budget_.has_room_for_held(second));
}

}  // namespace
}  // namespace cascade
