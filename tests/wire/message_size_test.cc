// The counted size is the written size. What can be sent can be received.
#include "wire/message_size.h"

#include <gtest/gtest.h>

#include "tests/long_tests.h"
#include "tests/wire/random_message.h"
#include "wire/reply_fields.h"
#include "wire/request_fields.h"
#include "wire/store_fields.h"
#include "wire/value_tree.h"

namespace cascade::wire {
namespace {

constexpr size_t kMessageTypes = std::variant_size_v<AnyMessage>;

MessageSizer size_of(const Envelope& envelope, MessageSizer::Texts texts) {
  MessageSizer size(texts);
  std::visit([&](const auto& message) { size.request(message, envelope.model); }, envelope.message);
  return size;
}

std::string error_of(Message message) {
  const auto frames = encode({{}, std::move(message)});
  return frames.ok() ? "none" : frames.error().to_string();
}

std::vector<int32_t> numbers(size_t count) {
  return std::vector<int32_t>(count, 7);
}

TEST(MessageSize, is_what_is_written_of_every_message) {
  Random random(testing::test_seed());
  const int rounds = cascade::testing::long_or(100, 20);
  for (size_t type = 0; type < kMessageTypes; ++type) {
    for (int i = 0; i < rounds; ++i) {
      const Envelope envelope = testing::random_envelope(random, type);
      const auto frames = encode(envelope);
      ASSERT_TRUE(frames.ok()) << frames.error().to_string();
      const MessageSizer exact = size_of(envelope, MessageSizer::Texts::kExactly);
      ASSERT_EQ(exact.body_bytes(), (*frames)[2].size()) << "type " << type;
      ASSERT_EQ(exact.arrays(), frames->size() - 3);
      ASSERT_EQ(exact.values(), ValueTree::parse((*frames)[2])->at(0).end);
      ASSERT_FALSE(exact.problem());
      const MessageSizer at_most = size_of(envelope, MessageSizer::Texts::kAtMost);
      ASSERT_GE(at_most.body_bytes(), exact.body_bytes());
      ASSERT_EQ(at_most.values(), exact.values());
    }
  }
}

TEST(MessageSize, of_malformed_text_is_that_of_what_it_becomes) {
  const Envelope envelope = {{}, ChunkGet{std::string(1000, '\xFF')}};
  EXPECT_EQ(size_of(envelope, MessageSizer::Texts::kExactly).body_bytes(),
            encode(envelope).value()[2].size());
}

TEST(Encode, refuses_a_text_that_is_too_long) {
  DetokenizeReply reply;
  reply.text.assign(kTextBytesMax, 'x');
  EXPECT_EQ(error_of(reply), "none");
  EXPECT_TRUE(decode(*encode({{}, reply})).ok());
  reply.text += 'x';
  EXPECT_EQ(error_of(reply),
            "invalid_argument: text: has 16777217 bytes, more than the limit of 16777216");
  // Each byte that is not UTF-8 becomes three bytes.
  reply.text.assign(kTextBytesMax / 3 + 1, '\xFF');
  EXPECT_EQ(error_of(reply),
            "invalid_argument: text: has 16777218 bytes, more than the limit of 16777216");
  reply.text.assign(kTextBytesMax / 3, '\xFF');
  EXPECT_EQ(error_of(reply), "none");
  EXPECT_TRUE(decode(*encode({{}, reply})).ok());
}

TEST(Encode, refuses_an_array_that_is_too_long) {
  EXPECT_EQ(error_of(TokenizeReply{numbers(kNumbersMax)}), "none");
  EXPECT_TRUE(decode(*encode({{}, TokenizeReply{numbers(kNumbersMax)}})).ok());
  EXPECT_EQ(error_of(TokenizeReply{numbers(kNumbersMax + 1)}),
            "invalid_argument: token_ids: has 4194305 numbers, more than the limit of 4194304");
}

TEST(Encode, refuses_a_list_that_is_too_long) {
  DetokenizeReply reply;
  reply.pieces.resize(kArrayElementsMax);
  EXPECT_EQ(error_of(reply), "none");
  EXPECT_TRUE(decode(*encode({{}, reply})).ok());
  reply.pieces.resize(kArrayElementsMax + 1);
  EXPECT_EQ(error_of(reply),
            "invalid_argument: pieces: has 1048577 elements, more than the limit of 1048576");
}

// A list of chunks with many parents has as many values as a list of chunks with many holders.
TEST(Encode, refuses_too_many_values) {
  StoreChunks list;
  list.chunks.resize(1000);
  for (Chunk& chunk : list.chunks) chunk.parent_ids.resize(2100);
  EXPECT_EQ(error_of(list).substr(0, 32), "invalid_argument: frames: have 2");
  list.chunks.resize(1);
  list.chunks.front().parent_ids.clear();
  const size_t others = size_of({{}, list}, MessageSizer::Texts::kExactly).values();
  list.chunks.resize(2);
  list.chunks.back() = list.chunks.front();
  const size_t chunk = size_of({{}, list}, MessageSizer::Texts::kExactly).values() - others;
  // Each of the two lists of parents adds a key and an array: four values.
  const size_t parents = kValuesMax - others - chunk - 4;
  for (Chunk& one : list.chunks) one.parent_ids.resize(parents / 2);
  list.chunks.back().parent_ids.resize(parents - parents / 2);
  EXPECT_EQ(error_of(list), "none");
  EXPECT_TRUE(decode(*encode({{}, list})).ok());
  list.chunks.back().parent_ids.emplace_back();
  EXPECT_EQ(error_of(list),
            "invalid_argument: frames: have 2097153 values, more than the limit of 2097152 of a "
            "message");
}

TEST(Encode, refuses_too_many_bytes) {
  Chunk chunk;
  chunk.text = chunk.query_text = chunk.raw_text = std::string(kTextBytesMax, 'x');
  const size_t ids = kNumbersMax - 1024;
  chunk.token_ids = numbers(ids);
  EXPECT_EQ(error_of(ChunkReply{chunk}), "none");
  EXPECT_TRUE(decode(*encode({{}, ChunkReply{chunk}})).ok());
  chunk.token_ids = numbers(kNumbersMax);
  EXPECT_EQ(error_of(ChunkReply{chunk}).substr(0, 32), "invalid_argument: frames: have 6");
}

TEST(Encode, has_room_for_what_ended_of_a_large_chunk_and_for_all_outputs_of_a_long_session) {
  ChunkReply reply;
  reply.chunk.text = reply.chunk.query_text = std::string(kTextBytesMax, 'x');
  reply.chunk.raw_text = std::string(kAnswerBytesMax, 'x');
  reply.chunk.token_ids = numbers(kNumbersMax - 65'536);
  Holder holder = {.kind = HolderKind::kName, .label = std::string(128, 'n'), .pinned = true};
  reply.chunk.holders.assign(256, holder);
  reply.ended.assign(256, holder);
  EXPECT_EQ(error_of(reply), "none");
  SessionReply session;
  std::string held_by;
  for (int i = 0; i < 4; ++i) held_by += "a turn of the session \"" + holder.label + "\", ";
  for (int64_t i = 0; i < 2000; ++i) {
    session.turns.push_back({i, "output_" + std::string(32, 'a')});
    session.outputs.push_back({session.turns.back().output_id, false, held_by + "252 others"});
  }
  EXPECT_EQ(error_of(session), "none");
  EXPECT_LT(size_of({{}, session}, MessageSizer::Texts::kAtMost).bytes(), size_t{8} << 20);
}

TEST(Encode, refuses_too_many_arrays) {
  DecodeDone done;
  done.sequences.resize(kFrameCountMax - 3);
  for (DecodedSequence& sequence : done.sequences) sequence.token_ids = {1};
  EXPECT_EQ(error_of(done), "none");
  EXPECT_TRUE(decode(*encode({{}, done})).ok());
  done.sequences.front().logprobs = {1};
  EXPECT_EQ(error_of(done),
            "invalid_argument: frames: have 4094 arrays, more than the limit of 4093 of a message");
}

TEST(Encode, sends_the_beginning_of_an_error_that_quotes_a_long_text) {
  const std::string endless(kTextBytesMax + 1, 'e');
  const auto received =
      decode(*encode({{}, ErrorReply{invalid_argument(endless, endless + "\u20ac"), 7}}));
  ASSERT_TRUE(received.ok());
  const auto& reply = std::get<ErrorReply>(received->message);
  EXPECT_EQ(reply.error.field, std::string(253, 'e') + "...");
  EXPECT_EQ(reply.error.message, std::string(4093, 'e') + "...");
  EXPECT_EQ(reply.retry_after_ms, 7);
}

}  // namespace
}  // namespace cascade::wire
