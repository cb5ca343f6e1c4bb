// Pins of chunks with a chain of their own.
#include "actors/scheduler/keep/chunk_pins.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::Tokens;
using Ids = std::vector<std::string>;

constexpr int64_t kHealUs = 2'000'000;

class ChunkPinsRoomTest : public testing::KeepTest {};

TEST_F(ChunkPinsRoomTest, a_held_chunk_is_pinned_at_once) {
  ChunkEntry& entry = held_output("a", 3);
  set_pinned(entry, true);
  EXPECT_TRUE(is_pinned(entry));
  EXPECT_FALSE(budget_.is_waiting(entry));
  evict();
  EXPECT_TRUE(holds_.is_held(entry));
  set_pinned(entry, false);
  EXPECT_FALSE(is_pinned(entry));
  evict();
  EXPECT_FALSE(holds_.is_held(entry));
}

TEST_F(ChunkPinsRoomTest, a_chain_that_is_not_in_memory_is_computed_with_its_pages_promised) {
  ChunkEntry& entry = output("a", 3);
  set_pinned(entry, true);
  EXPECT_EQ(queued(), Ids{"a"});
  EXPECT_EQ(budget_.pages_promised(), 3);
  compute(entry.chain, alice_);
  holds_.take(entry);
  EXPECT_TRUE(is_pinned(entry));
  EXPECT_EQ(budget_.pages_promised(), 0);
}

TEST_F(ChunkPinsRoomTest, a_chunk_that_is_pending_is_not_computed_twice) {
  ChunkEntry& entry = output("a", 3);
  entry.chunk.kv_state = KvState::kPending;
  set_pinned(entry, true);
  EXPECT_TRUE(queued().empty());
  EXPECT_EQ(budget_.pages_promised(), 3);
  set_pinned(entry, false);
  EXPECT_EQ(budget_.pages_promised(), 0);
}

TEST_F(ChunkPinsRoomTest, a_chain_from_before_the_start_is_read_and_then_computed) {
  ChunkEntry& entry = add("a", ChunkType::kOutput, count_up(0, 10));
  chains_.set_end(entry, Hasher().field("page", "end").finish().hex());
  set_pinned(entry, true);
  answer_read(count_up(0, 100), 90);
  EXPECT_EQ(entry.chain, count_up(0, 100));
  EXPECT_EQ(entry.own_begin, 90u);
  EXPECT_EQ(queued(), Ids{"a"});
  EXPECT_EQ(budget_.pages_promised(), 2);
}

TEST_F(ChunkPinsRoomTest, outputs_without_a_chain_are_asked_for_once_the_store_is_known) {
  ChunkEntry& early = add("a", ChunkType::kOutput);
  set_pinned(early, true);
  EXPECT_TRUE(take<wire::ReadChain>().empty());
  pins_.note_loaded();
  ChunkEntry& later = add("b", ChunkType::kOutput);
  set_pinned(later, true);
  answer_read({});
  EXPECT_TRUE(budget_.is_waiting(later));
  EXPECT_TRUE(later.chunk.kv_key.empty());
  EXPECT_TRUE(queued().empty());
}

TEST_F(ChunkPinsRoomTest, a_conversation_says_what_a_lost_output_was_made_of) {
  pins_.note_loaded();
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  set_pinned(entry, true);
  answer_read({});
  Request request;
  request.client.tenant = "alice";
  request.params.reasoning_effort = "low";
  request.messages.resize(3);
  request.messages[0].content = "question";
  request.messages[1].content = "answer";
  request.messages[2].content = "next question";
  request.answers = {{"a", 1}, {"unknown", 1}};
  pins_.heal_from(request);
  const auto jobs = take<wire::EncodeJob>();
  ASSERT_EQ(jobs.size(), 1u);
  ASSERT_EQ(jobs[0].messages.size(), 2u);
  EXPECT_EQ(jobs[0].messages[1].content, "answer");
  EXPECT_EQ(jobs[0].reasoning_effort, "low");
  EXPECT_EQ(idle_.take_tokenized(jobs[0].job)->chunk_id, "a");
}

TEST_F(ChunkPinsRoomTest, the_beginning_with_a_system_prompt_is_tokenized) {
  ChunkEntry& entry = add("a", ChunkType::kSystemPrompt, count_up(0, 10));
  set_pinned(entry, true);
  EXPECT_EQ(take<wire::EncodeJob>().size(), 1u);
  EXPECT_EQ(entry.chunk.kv_state, KvState::kPending);
}

TEST_F(ChunkPinsRoomTest, without_room_the_pages_can_be_evicted_until_there_is_room) {
  ChunkEntry& entry = output("a", 3);
  set_pinned(entry, true);
  budget_.set_max_pinned(0.1);
  compute(entry.chain, alice_);
  holds_.take(entry);
  EXPECT_FALSE(is_pinned(entry));
  EXPECT_EQ(pins_.without_room(), 1u);
  pins_.retry();
  EXPECT_EQ(pins_.without_room(), 1u);
  budget_.set_max_pinned(0.5);
  pins_.retry();
  EXPECT_TRUE(is_pinned(entry));
  EXPECT_EQ(pins_.without_room(), 0u);
}

TEST_F(ChunkPinsRoomTest, a_pin_that_lost_its_pages_is_computed_again_every_two_seconds) {
  ChunkEntry& entry = held_output("a", 3);
  budget_.set_max_pinned(0.1);
  entry.chunk.pinned = true;
  pins_.pin_held(entry);
  evict();
  pins_.retry();
  EXPECT_EQ(pins_.without_room(), 0u) << "there is nothing left to pin";
  clock_.advance_us(kHealUs);
  pins_.heal();
  EXPECT_TRUE(queued().empty()) << "it would only be evicted again";
  budget_.set_max_pinned(0.5);
  pins_.heal();
  EXPECT_TRUE(queued().empty());
  clock_.advance_us(kHealUs);
  pins_.heal();
  EXPECT_EQ(queued(), Ids{"a"});
}

TEST_F(ChunkPinsRoomTest, a_pin_whose_pages_were_taken_away_has_them_promised) {
  ChunkEntry& entry = held_output("a", 3);
  set_pinned(entry, true);
  pins_.promise_again(entry);
  EXPECT_EQ(budget_.pages_promised(), 0) << "it has them";
  memory_.index.drop_subtree(alice_, entry.chain, 0, Removal::kDeleted, /*holds=*/true);
  pins_.promise_again(entry);
  EXPECT_EQ(entry.chunk.kv_state, KvState::kPending);
  EXPECT_EQ(budget_.pages_promised(), 3);
  EXPECT_TRUE(queued().empty());
  clock_.advance_us(kHealUs);
  pins_.heal();
  EXPECT_EQ(queued(), Ids{"a"});
}

TEST_F(ChunkPinsRoomTest, what_is_pinned_is_written_and_written_again) {
  ChunkEntry& entry = held_output("a", 3);
  set_pinned(entry, true);
  EXPECT_FALSE(pins_.is_on_disk(entry));
  pins_.write(entry);
  EXPECT_EQ(write_all(), 3u);
  EXPECT_TRUE(pins_.is_on_disk(entry));
  stored_.note_gone(*Digest::from_hex(entry.chunk.kv_key));
  EXPECT_FALSE(pins_.is_on_disk(entry));
  clock_.advance_us(kHealUs);
  pins_.heal();
  EXPECT_EQ(write_all(), 1u);
  EXPECT_TRUE(pins_.is_on_disk(entry));
}

TEST_F(ChunkPinsRoomTest, a_chunk_that_is_removed_keeps_no_promise) {
  ChunkEntry& entry = output("a", 3);
  set_pinned(entry, true);
  pins_.release(entry);
  EXPECT_EQ(budget_.pages_promised(), 0);
}

}  // namespace
}  // namespace cascade
