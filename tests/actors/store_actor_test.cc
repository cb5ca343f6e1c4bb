// What the store sends at a start, in messages that are small enough to be sent.
#include "actors/store_actor.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "cache/holders.h"
#include "persist/memory_store.h"
#include "tests/actors/chunk_with_names.h"
#include "tests/actors/hybrid_world.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"
#include "wire/frames.h"

namespace cascade {
namespace {

using testing::chunk_with_names;

// The chunks that the store sends at a start. Every message can be sent and read, and only the last
// one says that there are no more.
std::vector<Chunk> loaded(ChunkStore& store) {
  const FakeClock clock;
  StoreActor actor(store, clock);
  std::vector<Chunk> chunks;
  bool more = true;
  wire::StoreLoad load;
  load.model = Digest{}.hex();
  actor.handle({load}, [&](const wire::Message& message) {
    const auto frames = wire::encode({{}, message});
    ASSERT_TRUE(frames.ok()) << frames.error().to_string();
    EXPECT_TRUE(wire::decode(*frames).ok());
    const auto* part = std::get_if<wire::StoreChunks>(&message);
    if (part == nullptr) return;
    EXPECT_TRUE(more);
    more = part->more;
    chunks.insert(chunks.end(), part->chunks.begin(), part->chunks.end());
  });
  EXPECT_FALSE(more);
  return chunks;
}

TEST(StoreActor, gives_chunks_that_many_names_hold_in_several_messages) {
  MemoryStore store;
  for (int i = 0; i < 1000; ++i) ASSERT_TRUE(store.put(chunk_with_names(i, kHoldersMax)).ok());
  EXPECT_EQ(loaded(store).size(), 1000u);
}

TEST(StoreActor, leaves_out_a_chunk_that_no_message_can_have) {
  MemoryStore store;
  Chunk large = chunk_with_names(1, 1);
  large.text.assign(wire::kTextBytesMax + 1, 'x');
  ASSERT_TRUE(store.put(large).ok());
  ASSERT_TRUE(store.put(chunk_with_names(2, 1)).ok());
  const std::vector<Chunk> chunks = loaded(store);
  ASSERT_EQ(chunks.size(), 1u);
  EXPECT_EQ(chunks.front().id, "chunk_2");
  ASSERT_TRUE(store.load().ok());
  EXPECT_EQ(store.load()->size(), 2u) << "it stays stored";
}

// A store with one page, and a slot and a page of memory.
class StoreActorStates : public ::testing::Test {
 protected:
  StoreActorStates() {
    page_.tenant = "a";
    page_.model = page_.parent = root_.hex();
    page_.pages = {{key_.hex(), ids_, 0}};
    state_.tenant = "a";
    state_.model = state_.parent = root_.hex();
    state_.key = key_.hex();
    state_.token_ids = ids_;
  }
  std::vector<wire::Message> handle(const std::vector<wire::Message>& batch) {
    std::vector<wire::Message> answers;
    actor_.handle(batch, [&](wire::Message m) { answers.push_back(std::move(m)); });
    return answers;
  }

  const Digest root_ = Hasher().field("model", "test").finish();
  const Digest key_ = Hasher().field("page", "test").finish();
  const std::vector<int32_t> ids_ = {1, 2, 3};
  const KvLayout layout_ = testing::hybrid_model().kv_layout;
  PageArena pages_ = *PageArena::create(layout_.indexed_page_bytes(), 2);
  PageArena slots_ = *PageArena::create(10'000, 2);
  FakeClock clock_;
  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_ = testing::open_store(disk_);
  std::unique_ptr<ChainStates> chain_states_ =
      *ChainStates::open(*store_, testing::test_options().kv);
  StoreStates states_{*chain_states_, &slots_, pages_, layout_, clock_};
  StoreActor actor_{*store_, pages_, layout_, clock_, &states_};
  wire::StorePages page_;
  wire::StoreState state_;
};

TEST_F(StoreActorStates, stores_a_state_whose_page_is_stored) {
  const auto refused = handle({state_});
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_FALSE(std::get<wire::StateStored>(refused[0]).stored);
  EXPECT_FALSE(std::get<wire::StateStored>(refused[0]).error);
  const auto answers = handle({page_, state_});
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_TRUE(std::get<wire::StateStored>(answers[1]).stored);
}

TEST_F(StoreActorStates, says_that_a_state_is_not_stored_if_its_page_is_removed_meanwhile) {
  handle({page_});
  const auto answers = handle({state_, wire::RemovePages{7, {key_.hex()}}});
  for (const wire::Message& answer : answers) {
    const auto* stored = std::get_if<wire::StateStored>(&answer);
    if (stored != nullptr) {
      EXPECT_FALSE(stored->stored);
    }
  }
  const auto loaded = handle({wire::LoadState{8, key_.hex(), ids_, 1, {}}});
  EXPECT_EQ(std::get<wire::StateLoaded>(loaded.at(0)).error->code, ErrorCode::kNotFound);
}

TEST_F(StoreActorStates, reads_a_state_with_the_page_that_has_its_tokens) {
  std::memset(slots_.data(0), 5, slots_.page_bytes());
  state_.key = Hasher().field("page", "short").finish().hex();
  state_.token_ids = {1, 2};
  handle({page_, state_});
  const auto answers = handle({wire::LoadState{8, state_.key, {1, 2}, 1, 1}});
  const auto& loaded = std::get<wire::StateLoaded>(answers.at(0));
  EXPECT_FALSE(loaded.error);
  EXPECT_EQ(loaded.page_token_ids, ids_);
  EXPECT_EQ(std::memcmp(slots_.data(0), slots_.data(1), slots_.page_bytes()), 0);
}

}  // namespace
}  // namespace cascade
