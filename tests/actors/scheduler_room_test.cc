// Answers are cut to the room that there is; prompts without room are refused with numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::ask;
using ::testing::HasSubstr;
using testing::query_text;
using testing::SchedulerWorld;

// An answer that does not end by itself.
wire::GenerateRequest endless(int32_t max_tokens) {
  wire::GenerateRequest request;
  request.messages = {
      {.role = "user", .content = "What is the capital of France?", .reasoning = {}}};
  request.sampling.temperature = 0;
  request.max_tokens = max_tokens;
  request.ignore_eos = true;
  return request;
}

wire::GenerateRequest raw(const std::string& prompt) {
  wire::GenerateRequest request;
  request.prompt = prompt;
  request.max_tokens = 1;
  return request;
}

wire::ErrorReply refusal_of(SchedulerWorld& world, const wire::GenerateRequest& request) {
  return world.one<wire::ErrorReply>(world.send(request));
}

std::string repeated_words(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += "word ";
  return text;
}

TEST(Room, an_answer_is_cut_to_the_kv_memory_as_it_is_to_the_context) {
  SchedulerWorld world({}, 2);
  const auto final = world.one<wire::Final>(world.send(endless(30'000)));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_EQ(final.usage.prompt_tokens + final.usage.completion_tokens, 2 * kPageTokens);
  // The daemon's default length is cut, too.
  const auto by_default = world.one<wire::Final>(world.send(endless(0)));
  EXPECT_EQ(by_default.token_ids, final.token_ids);
  // An answer that fits is not cut.
  EXPECT_EQ(world.one<wire::Final>(world.send(endless(7))).usage.completion_tokens, 7);
}

TEST(Room, what_is_cut_begins_as_what_is_not) {
  SchedulerWorld small({}, 2), large;
  const auto cut = small.one<wire::Final>(small.send(endless(300))).token_ids;
  auto whole = large.one<wire::Final>(large.send(endless(300))).token_ids;
  ASSERT_GT(whole.size(), cut.size());
  whole.resize(cut.size());
  EXPECT_EQ(cut, whole);
}

// Pins the beginning of prompts.
int64_t pin_beginning(SchedulerWorld& world, const std::string& beginning) {
  wire::PrefixCache prefix;
  prefix.prompt = beginning;
  return world.one<wire::PrefixReply>(world.send(prefix)).tokens;
}

wire::GenerateRequest endless_behind(const std::string& prompt) {
  wire::GenerateRequest request = raw(prompt);
  request.ignore_eos = true;
  request.max_tokens = 30'000;
  return request;
}

TEST(Room, of_pinned_pages_is_not_promised_to_an_answer) {
  SchedulerWorld world({}, 8);
  const int64_t tokens = pin_beginning(world, repeated_words(100));
  const int64_t pinned = (tokens + kPageTokens - 1) / kPageTokens;
  ASSERT_GT(pinned, 1);
  const auto final = world.one<wire::Final>(world.send(endless(30'000)));
  EXPECT_EQ(final.finish_reason, "length");
  EXPECT_EQ(final.usage.prompt_tokens + final.usage.completion_tokens, (8 - pinned) * kPageTokens);
  // Whole pinned pages that the prompt itself begins with do not count against its room.
  const auto longer =
      world.one<wire::Final>(world.send(endless_behind(repeated_words(100) + "and so on")));
  const int64_t whole = tokens / kPageTokens;
  EXPECT_EQ(longer.usage.prompt_tokens + longer.usage.completion_tokens,
            (8 - pinned + whole) * kPageTokens);
}

TEST(Room, of_pages_that_running_requests_use_is_there_when_they_end) {
  SchedulerWorld world({}, 8);
  pin_beginning(world, repeated_words(100));
  std::vector<uint64_t> numbers;
  for (const char* end : {"and so on", "or so", "and others"}) {
    numbers.push_back(world.post(endless_behind(repeated_words(100) + end)));
    world.pump(6);
  }
  world.pump();
  for (const uint64_t number : numbers) {
    EXPECT_EQ(world.one<wire::Final>(number).finish_reason, "length");
  }
}

TEST(Room, of_the_kv_memory_that_a_prompt_does_not_have_is_an_error_with_numbers) {
  SchedulerWorld world({}, 2);
  auto request = endless(5);
  request.messages[0].content = repeated_words(150);
  const wire::ErrorReply reply = refusal_of(world, request);
  EXPECT_EQ(reply.error.code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(reply.error.field, "messages");
  EXPECT_EQ(reply.context_tokens_max, 128);
  EXPECT_EQ(reply.retry_after_ms, 0);
  EXPECT_THAT(reply.error.message, HasSubstr("maximum context length is 128 tokens"));
  EXPECT_THAT(reply.error.message, HasSubstr("--kv-memory"));
  EXPECT_EQ(world.status().requests_waiting, 0);
}

TEST(Room, of_the_context_that_a_prompt_does_not_have_is_an_error_with_numbers) {
  SchedulerWorld world;
  const int64_t context = testing::demo_model().config.context_tokens_max;
  const std::string wording =
      "This model's maximum context length is " + std::to_string(context) + " tokens.";
  std::vector<wire::GenerateRequest> requests(4);
  requests[0] = endless(5);
  requests[0].messages[0].content = repeated_words(20'000);
  requests[1] = raw(repeated_words(20'000));
  requests[2] = ask({query_text(repeated_words(20'000))});
  requests[3].prompt_token_ids.assign(static_cast<size_t>(context), 65);
  const std::vector<std::string> fields = {"messages", "prompt", "chunks", "prompt_token_ids"};
  for (size_t i = 0; i < requests.size(); ++i) {
    const wire::ErrorReply reply = refusal_of(world, requests[i]);
    EXPECT_EQ(reply.error.code, ErrorCode::kInvalidArgument) << fields[i];
    EXPECT_EQ(reply.error.field, fields[i]);
    EXPECT_EQ(reply.context_tokens_max, context) << fields[i];
    EXPECT_THAT(reply.error.message, HasSubstr(wording)) << fields[i];
    EXPECT_THAT(reply.error.message, HasSubstr("Please reduce the length of the ")) << fields[i];
  }
}

TEST(Room, of_texts_that_are_too_large_to_be_tokenized_is_the_same_error) {
  SchedulerWorld world;
  const int64_t context = testing::demo_model().config.context_tokens_max;
  const wire::ErrorReply reply = refusal_of(world, raw(std::string(3 << 20, 'x')));
  EXPECT_EQ(reply.error.field, "prompt");
  EXPECT_EQ(reply.context_tokens_max, context);
  EXPECT_THAT(reply.error.message, HasSubstr("maximum context length is"));
  EXPECT_THAT(reply.error.message, HasSubstr("3145728 bytes; the limit is 2097152"));
  // Other errors do not tell the context's length.
  wire::GenerateRequest bias = raw("x");
  bias.sampling.logit_bias = {{1 << 30, 1}};
  EXPECT_EQ(refusal_of(world, bias).context_tokens_max, std::nullopt);
}

}  // namespace
}  // namespace cascade
