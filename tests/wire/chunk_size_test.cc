// Which chunks fit a message.
#include "wire/chunk_size.h"

#include <gtest/gtest.h>

#include "wire/frames.h"

namespace cascade::wire {
namespace {

Chunk chunk_with_holders(size_t holders) {
  Chunk chunk;
  chunk.id = "chunk";
  for (size_t i = 0; i < holders; ++i) {
    Holder holder;
    holder.kind = HolderKind::kName;
    holder.label = "name " + std::to_string(i);
    holder.expires_us = 1;
    holder.priority = 70;
    chunk.holders.push_back(std::move(holder));
  }
  return chunk;
}

size_t taken(ChunkRoom& room, const Chunk& chunk) {
  size_t count = 0;
  while (count < 100'000 && room.takes(chunk)) ++count;
  return count;
}

TEST(ChunkSize, says_which_field_is_too_large) {
  Chunk chunk;
  chunk.raw_text.assign(kTextBytesMax, 'x');
  EXPECT_TRUE(check_size(chunk).ok());
  chunk.raw_text += 'x';
  const Status checked = check_size(chunk);
  ASSERT_FALSE(checked.ok());
  EXPECT_EQ(checked.error().to_string(),
            "invalid_argument: raw_text: has 16777217 bytes, more than the limit of 16777216");
}

TEST(ChunkRoom, holds_what_a_message_can_have) {
  for (const size_t holders : {0, 1, 256}) {
    const Chunk chunk = chunk_with_holders(holders);
    ChunkRoom room;
    StoreChunks message;
    message.chunks.assign(taken(room, chunk), chunk);
    EXPECT_GE(message.chunks.size(), 250u) << holders;
    EXPECT_TRUE(encode({{}, message}).ok()) << holders;
  }
}

TEST(ChunkRoom, takes_one_chunk_that_is_larger) {
  Chunk chunk;
  chunk.text = chunk.raw_text = chunk.query_text = std::string(kTextBytesMax, 'x');
  ChunkRoom room;
  EXPECT_TRUE(room.takes(chunk));
  EXPECT_FALSE(room.takes(chunk));
}

TEST(ChunkRoom, counts_the_token_ids_of_all_as_one_array) {
  Chunk chunk;
  chunk.token_ids.resize(kNumbersMax / 3);
  ChunkRoom room;
  EXPECT_EQ(taken(room, chunk), 1u);
}

}  // namespace
}  // namespace cascade::wire
