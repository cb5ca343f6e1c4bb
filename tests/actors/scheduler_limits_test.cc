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

// A Final that a message cannot hold would take the answer with it. Only a model of a long context
// gets there.
TEST(Limits, bound_the_log_probabilities_of_an_answer) {
  ThreadPool pool(1);
  auto model = load_model(testing::demo_model_dir(), testing::demo_model().options, pool);
  ASSERT_TRUE(model.ok());
  (*model)->config.context_tokens_max = 1'000'000;
  auto arena = PageArena::create((*model)->kv_layout.page_bytes(), 8'000);
  ASSERT_TRUE(arena.ok());
  const FakeClock clock;
  SchedulerCore core({}, **model, *arena, clock);
  core.on_actor_started(testing::Actor::kPrefill);
  core.on_actor_started(testing::Actor::kGateway, kLocalTenant);
  core.on_answer(wire::StoreChunks{});
  core.on_answer(wire::StoredPages{});
  const auto error_of = [&](int32_t max_tokens) {
    wire::GenerateRequest request;
    request.prompt = "x";
    request.logprobs = true;
    request.top_logprobs = 20;
    request.max_tokens = max_tokens;
    core.on_client({kLocalTenant, "client"},
                   {testing::request_id(static_cast<uint64_t>(max_tokens)), request});
    wire::EncodeDone encoded;
    for (const auto& sent : core.take_outgoing()) {
      const auto* job = std::get_if<wire::EncodeJob>(&sent.envelope.message);
      if (job != nullptr) encoded.job = job->job;
    }
    encoded.token_ids = {1, 2, 3};
    core.on_answer(std::move(encoded));
    for (const auto& sent : core.take_outgoing()) {
      const auto* reply = std::get_if<wire::ErrorReply>(&sent.envelope.message);
      if (reply != nullptr) return reply->error;
    }
    return Error{};
  };
  const Error error = error_of(300'000);
  EXPECT_EQ(error.to_string(),
            "invalid_argument: top_logprobs: for an answer of up to 300000 tokens the limit is 13");
  EXPECT_EQ(error_of(209'715).message, "");
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
