// Requests that are small on the wire and huge inside: refused by name, before they cost memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"
#include "wire/frames.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::SchedulerWorld;

constexpr size_t kMessagesMax = 65'536;
constexpr size_t kChunksMax = 4096;

wire::GenerateRequest conversation_of(size_t messages) {
  wire::GenerateRequest request;
  request.messages.assign(messages, {.role = "user", .content = "a", .reasoning = {}});
  return request;
}

wire::GenerateRequest naming(const std::string& id, size_t times) {
  wire::GenerateRequest request;
  request.chunks.assign(times, {ChunkType::kContext, id, ""});
  request.chunks.push_back(testing::query_text("Why?"));
  return request;
}

std::string registered(SchedulerWorld& world, const std::string& text) {
  const uint64_t put = world.send(wire::ChunkPut{ChunkType::kContext, text});
  return world.one<wire::ChunkReply>(put).chunk.id;
}

TEST(Limits, bound_the_messages_of_a_conversation) {
  SchedulerWorld world;
  const uint64_t accepted = world.post(conversation_of(kMessagesMax));
  EXPECT_EQ(world.all<wire::Accepted>(accepted).size(), 1u);
  const Error error = world.error(world.post(conversation_of(kMessagesMax + 1)));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "messages");
  EXPECT_THAT(error.message, HasSubstr("65536"));
}

TEST(Limits, bound_the_chunks_of_a_composition) {
  SchedulerWorld world;
  const std::string id = registered(world, "fact");
  const uint64_t accepted = world.post(naming(id, kChunksMax - 1));
  EXPECT_EQ(world.all<wire::Accepted>(accepted).size(), 1u);
  const Error error = world.error(world.post(naming(id, kChunksMax)));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "chunks");
}

TEST(Limits, bound_the_text_of_a_chunk_that_is_named_often) {
  SchedulerWorld world;
  const std::string id = registered(world, std::string(size_t{1} << 20, ' '));
  // 4 GiB if it were put together.
  const Error error = world.error(world.post(naming(id, kChunksMax - 1)));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "chunks");
  EXPECT_THAT(error.message, HasSubstr("the limit is"));
}

// What the limits let through must reach the tokenizer: a message between actors that does not
// fit the format is taken for a bug and ends the process.
TEST(Limits, leave_what_fits_the_message_to_the_tokenizer) {
  wire::EncodeJob job;
  job.messages.assign(kMessagesMax, {.role = "assistant", .content = "", .reasoning = "r"});
  job.messages.front().content.assign(wire::kTextBytesMax, 'a');
  job.thinking = true;
  const auto decoded = wire::decode(wire::encode({{}, job}));
  EXPECT_TRUE(decoded.ok()) << decoded.error().to_string();
}

}  // namespace
}  // namespace cascade
