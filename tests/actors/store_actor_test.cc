// What the store sends at a start, in messages that are small enough to be sent.
#include "actors/store_actor.h"

#include <gtest/gtest.h>

#include "cache/holders.h"
#include "persist/memory_store.h"
#include "tests/actors/chunk_with_names.h"
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

}  // namespace
}  // namespace cascade
