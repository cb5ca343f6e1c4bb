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
  // Together, the texts would have 4 GiB.
  const Error error = world.error(world.post(naming(id, kChunksMax - 1)));
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(error.field, "chunks");
  EXPECT_THAT(error.message, HasSubstr("the limit is"));
}

// A scheduler of a model with a long context. The test plays its actors.
class LongContext : public ::testing::Test {
 protected:
  void SetUp() override {
    ThreadPool pool(1);
    auto loaded = load_model(testing::demo_model_dir(), testing::demo_model().options, pool);
    ASSERT_TRUE(loaded.ok());
    model_ = *std::move(loaded);
    model_->config.context_tokens_max = 1'000'000;
    auto arena = PageArena::create(model_->kv_layout.page_bytes(), 8'000);
    ASSERT_TRUE(arena.ok());
    arena_ = std::make_unique<PageArena>(*std::move(arena));
    core_ = std::make_unique<SchedulerCore>(SchedulerOptions{}, *model_, *arena_, clock_);
    for (const auto actor :
         {testing::Actor::kStore, testing::Actor::kPrefill, testing::Actor::kDecode}) {
      core_->on_actor_started(actor);
    }
    core_->on_actor_started(testing::Actor::kGateway, kLocalTenant);
    core_->on_answer(wire::StoreChunks{});
    core_->on_answer(wire::StoredPages{});
  }
  void ask(wire::GenerateRequest request) {
    core_->on_client({kLocalTenant, "client"}, {testing::request_id(++asked_), std::move(request)});
  }
  // The last M that was sent since the last call; nullopt if there was none.
  template <class M>
  std::optional<M> sent() {
    std::optional<M> found;
    for (const auto& message : core_->take_outgoing()) {
      EXPECT_TRUE(wire::encode(message.envelope).ok());
      if (const auto* typed = std::get_if<M>(&message.envelope.message)) found = *typed;
    }
    return found;
  }
  void encode(std::vector<int32_t> token_ids) {
    const auto job = sent<wire::EncodeJob>();
    ASSERT_TRUE(job.has_value());
    wire::EncodeDone done;
    done.job = job->job;
    done.token_ids = std::move(token_ids);
    core_->on_answer(std::move(done));
  }

  FakeClock clock_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<PageArena> arena_;
  std::unique_ptr<SchedulerCore> core_;
  uint64_t asked_ = 0;
};

// If a Final did not fit a message, the answer would be lost with it.
TEST_F(LongContext, bounds_the_log_probabilities_of_an_answer) {
  const auto error_of = [&](int32_t max_tokens) {
    wire::GenerateRequest request;
    request.prompt = "x";
    request.logprobs = true;
    request.top_logprobs = 20;
    request.max_tokens = max_tokens;
    ask(request);
    encode({1, 2, 3});
    const auto reply = sent<wire::ErrorReply>();
    return reply ? reply->error : Error{};
  };
  const Error error = error_of(300'000);
  EXPECT_EQ(error.to_string(),
            "invalid_argument: top_logprobs: for an answer of up to 300000 tokens the limit is 13");
  EXPECT_EQ(error_of(209'715).message, "");
}

wire::GenerateRequest going_on_with(size_t bytes) {
  wire::GenerateRequest request;
  request.messages = {{.role = "user", .content = "Go on.", .reasoning = {}},
                      {.role = "assistant", .content = std::string(bytes, 'x'), .reasoning = {}}};
  request.continue_final_message = true;
  request.max_tokens = 100'000;
  request.ignore_eos = true;
  request.retain_output = true;
  return request;
}

// The reply and the chunk carry the text, and a message has a limit.
TEST_F(LongContext, ends_an_answer_that_is_as_long_as_it_may_become) {
  ask(going_on_with(wire::kAnswerBytesMax - 100));
  encode({1, 2, 3});
  const auto prefill = sent<wire::PrefillJob>();
  ASSERT_TRUE(prefill.has_value());
  const auto word = model_->tokenizer.encode(" word", /*trusted=*/false, /*with_template=*/false);
  ASSERT_TRUE(word.ok());
  wire::PrefillDone done;
  done.job = prefill->job;
  done.token = word->front();
  core_->on_answer(std::move(done));
  std::optional<wire::Final> final;
  const auto take = [&](const wire::Message& message) {
    if (const auto* end = std::get_if<wire::Final>(&message)) final = *end;
    if (const auto* put = std::get_if<wire::StorePut>(&message)) {
      core_->on_answer(wire::StoreAck{put->job, std::nullopt});
    }
    const auto* decode = std::get_if<wire::DecodeJob>(&message);
    if (decode == nullptr) return;
    wire::DecodeDone step;
    step.job = decode->job;
    step.steps = 1;
    step.sequences.push_back(
        {decode->sequences.front().sequence, {word->front()}, {0}, {}, {}, {}});
    core_->on_answer(std::move(step));
  };
  for (int rounds = 0; rounds < 200 && !final; ++rounds) {
    for (const auto& message : core_->take_outgoing()) {
      EXPECT_TRUE(wire::encode(message.envelope).ok());
      take(message.envelope.message);
    }
  }
  ASSERT_TRUE(final.has_value());
  EXPECT_EQ(final->finish_reason, "length");
  EXPECT_GE(final->text.size(), 99u);
  EXPECT_LT(final->text.size(), 200u);
  EXPECT_FALSE(final->output_chunk_id.empty()) << "it is kept";
}

TEST_F(LongContext, refuses_to_go_on_with_a_text_that_is_as_long_as_an_answer_may_become) {
  ask(going_on_with(wire::kAnswerBytesMax));
  const auto reply = sent<wire::ErrorReply>();
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->error.field, "messages");
  EXPECT_THAT(reply->error.message, HasSubstr("8388608 bytes; the limit is 8388607"));
}

// A request that the limits let through reaches the tokenizer.
TEST(Limits, leave_what_fits_the_message_to_the_tokenizer) {
  wire::EncodeJob job;
  job.messages.assign(kMessagesMax, {.role = "assistant", .content = "", .reasoning = "r"});
  job.messages.front().content.assign(wire::kTextBytesMax, 'a');
  job.thinking = true;
  const auto decoded = wire::decode(*wire::encode({{}, job}));
  EXPECT_TRUE(decoded.ok()) << decoded.error().to_string();
}

}  // namespace
}  // namespace cascade
