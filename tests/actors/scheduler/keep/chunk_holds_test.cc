// Holds of chunks and prompts.
#include "actors/scheduler/keep/chunk_holds.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::Tokens;

class ChunkHoldsTest : public testing::RoomTest {
 protected:
  static constexpr size_t kPages = 10;

  ChunkHoldsTest() : RoomTest(kPages) {}

  // A chunk whose chain is held and has `pages` pages in memory.
  ChunkEntry& held(const std::string& id, size_t pages, int32_t priority = 0) {
    ChunkEntry& entry = entries_[id];
    entry.chunk.id = id;
    entry.chunk.tenant = "alice";
    entry.chunk.type = ChunkType::kOutput;
    entry.chunk.priority = priority;
    entry.chunk.kv_state = KvState::kReady;
    entry.chunk.last_used_us = static_cast<int64_t>(entries_.size());
    entry.sequence = entries_.size();
    entry.chain = count_up(static_cast<int32_t>(entries_.size()) * 10'000, pages * kPageTokens);
    entry.own_begin = kPageTokens;
    compute(entry.chain, alice_);
    holds_.take(entry);
    return entry;
  }
  std::vector<EventKind> told() {
    std::vector<EventKind> kinds;
    for (const auto& event : take<wire::EventNotice>()) kinds.push_back(event.kind);
    return kinds;
  }
  static Request request(const Tokens& prompt, int64_t priority_ms) {
    Request request;
    request.client = {"alice", "c", Door::kIpc};
    request.prompt = prompt;
    request.params.prompt_priority = 7;
    request.params.prompt_priority_ms = priority_ms;
    return request;
  }

  TextPins text_pins_{memory_.index, stored_.disk()};
  TextUses uses_{100,
                 outbox_,
                 memory_.index,
                 tenants_,
                 registry_,
                 stored_,
                 [](const ChunkEntry&, const ChunkUses::Use&) {}};
  std::map<std::string, ChunkEntry> entries_;
  std::vector<std::string> held_;
  std::vector<std::string> pins_lost_;
  ChunkHolds holds_{
      {.memory_ratio = 0.5, .leases_max = 2},
      clock_,
      outbox_,
      memory_.index,
      {kPages, kPageBytes, kDiskPageBytes},
      tenants_,
      stored_,
      uses_,
      text_pins_,
      {.held = [this](ChunkEntry& entry) { held_.push_back(entry.chunk.id); },
       .pin_lost = [this](const ChunkEntry& entry) { pins_lost_.push_back(entry.chunk.id); }}};
};

TEST_F(ChunkHoldsTest, holds_a_chain_that_is_in_memory) {
  ChunkEntry& entry = held("a", 3);
  EXPECT_TRUE(holds_.is_held(entry));
  EXPECT_EQ(held_, std::vector<std::string>{"a"});
  EXPECT_EQ(told(), std::vector{EventKind::kChunkRestored});
  holds_.measure(entry);
  EXPECT_EQ(entry.chunk.kv_tokens, 192);
  EXPECT_EQ(entry.chunk.kv_bytes, 2000) << "its own tokens begin with the second page";
  EXPECT_EQ(holds_.held().size(), 1u);
  holds_.clear(entry);
  EXPECT_FALSE(holds_.is_held(entry));
  EXPECT_TRUE(holds_.held().empty());
  EXPECT_EQ(memory_.index.held_count(), 0u);
}

TEST_F(ChunkHoldsTest, measures_pages_in_memory_with_their_index_and_pages_on_disk_without) {
  ChunkEntry& entry = held("a", 3);
  for (const ChainIndex::Node* node : testing::nodes_of(memory_.index, alice_, entry.chain)) {
    const ChainIndex::PageName name = name_of(node);
    stored_.add(name.key, name.parent, static_cast<int32_t>(name.tokens.size()));
    entry.chunk.kv_key = name.key.hex();
  }
  entry.chunk.kv_begin = kPageTokens;
  holds_.measure(entry);
  EXPECT_EQ(entry.chunk.kv_bytes, 2 * 1000);
  EXPECT_EQ(entry.chunk.kv_disk_bytes, 2 * 990);
}

TEST_F(ChunkHoldsTest, a_chain_that_is_not_in_memory_is_not_held) {
  ChunkEntry entry;
  entry.chunk.tenant = "alice";
  entry.chain = count_up(0, 64);
  holds_.take(entry);
  EXPECT_FALSE(entry.hold.has_value());
  EXPECT_TRUE(held_.empty());
}

TEST_F(ChunkHoldsTest, a_lost_hold_is_noticed_by_whoever_looks) {
  ChunkEntry& entry = held("a", 2);
  told();
  evict();
  EXPECT_FALSE(holds_.is_held(entry));
  holds_.look_for_evictions();
  EXPECT_EQ(told(), std::vector{EventKind::kChunkEvicted});
  EXPECT_EQ(entry.chunk.kv_state, KvState::kNone);
  EXPECT_EQ(entry.chunk.kv_bytes, 0);
  EXPECT_TRUE(pins_lost_.empty());
  holds_.refresh(entry);
  EXPECT_TRUE(told().empty()) << "it is told of once";
}

TEST_F(ChunkHoldsTest, a_pinned_chunk_that_lost_its_hold_comes_back) {
  ChunkEntry& entry = held("a", 2);
  entry.chunk.pinned = true;
  evict();
  holds_.refresh(entry);
  EXPECT_EQ(entry.chunk.kv_state, KvState::kPending);
  EXPECT_EQ(pins_lost_, std::vector<std::string>{"a"});
}

TEST_F(ChunkHoldsTest, holds_keep_a_share_of_the_pool) {
  EXPECT_EQ(holds_.pages_max(), 5);
  ChunkEntry& old = held("a", 2);
  ChunkEntry& important = held("b", 2, /*priority=*/9);
  ChunkEntry& last = held("c", 2);
  EXPECT_FALSE(holds_.is_held(old)) << "of the lowest priority the one that was used longest ago";
  EXPECT_TRUE(holds_.is_held(important));
  EXPECT_TRUE(holds_.is_held(last));
  EXPECT_EQ(old.chunk.kv_state, KvState::kNone);
  holds_.set_memory_ratio(0.2);
  important.chunk.pinned = true;
  holds_.trim();
  EXPECT_TRUE(holds_.is_held(important)) << "a pin is not trimmed";
  EXPECT_FALSE(holds_.is_held(last));
}

TEST_F(ChunkHoldsTest, public_pages_have_a_hold_of_their_own) {
  ChunkEntry& entry = held("a", 2);
  EXPECT_FALSE(holds_.take_public(entry, entry.chain));
  compute(entry.chain, kPublic);
  EXPECT_TRUE(holds_.take_public(entry, entry.chain));
  EXPECT_EQ(holds_.public_beginning(entry.chain), 128);
  Tokens other = entry.chain;
  other[100] = -1;
  EXPECT_EQ(holds_.public_beginning(other), 64);
  holds_.clear_public(entry);
  EXPECT_EQ(holds_.public_beginning(entry.chain), 0);
}

TEST_F(ChunkHoldsTest, a_prompt_has_its_priority_for_a_while) {
  const Tokens prompt = count_up(0, 150);
  compute(prompt, alice_);
  EXPECT_TRUE(holds_.lease(request(prompt, 1000)));
  EXPECT_EQ(memory_.index.held_count(), 2u) << "whole pages";
  clock_.advance_us(999'999);
  holds_.end_leases();
  EXPECT_EQ(memory_.index.held_count(), 2u);
  clock_.advance_us(1);
  holds_.end_leases();
  EXPECT_EQ(memory_.index.held_count(), 0u);
}

TEST_F(ChunkHoldsTest, leases_are_few_and_drop_when_asked) {
  const Tokens prompt = count_up(0, 64);
  EXPECT_FALSE(holds_.lease(request(prompt, 1000))) << "it is not in memory";
  compute(prompt, alice_);
  Request without = request(prompt, 1000);
  without.params.prompt_priority.reset();
  EXPECT_FALSE(holds_.lease(without));
  EXPECT_FALSE(holds_.lease(request(count_up(0, 63), 1000))) << "no whole page";
  EXPECT_TRUE(holds_.lease(request(prompt, 1000)));
  EXPECT_TRUE(holds_.lease(request(prompt, 2000)));
  EXPECT_FALSE(holds_.lease(request(prompt, 3000)));
  holds_.drop_leases_if([](const Lease& lease) { return lease.tenant == "bob"; });
  EXPECT_EQ(memory_.index.held_count(), 1u);
  holds_.drop_leases_if([](const Lease& lease) { return lease.tenant == "alice"; });
  EXPECT_EQ(memory_.index.held_count(), 0u);
  EXPECT_TRUE(holds_.lease(request(prompt, 1000)));
}

}  // namespace
}  // namespace cascade
