// What clients ask about texts and token ids, and the two doors of a tenant.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/actors/scheduler_world.h"
#include "tests/model/output_testing.h"

namespace cascade {
namespace {

using testing::Actor;
using testing::SchedulerWorld;

wire::ApplyTemplateRequest template_request() {
  wire::ApplyTemplateRequest request;
  request.messages = {{.role = "user", .content = "Hi", .reasoning = {}}};
  return request;
}

TEST(SchedulerText, a_text_and_its_token_ids_are_the_same) {
  SchedulerWorld world;
  const std::string text = "Grüße, 世界 <|im_end|>";
  const auto tokens = world.one<wire::TokenizeReply>(world.send(wire::TokenizeRequest{text}));
  EXPECT_FALSE(tokens.token_ids.empty());
  const auto back = world.one<wire::DetokenizeReply>(
      world.send(wire::DetokenizeRequest{tokens.token_ids, false, true}));
  EXPECT_EQ(back.text, text);
  EXPECT_EQ(back.pieces.size(), tokens.token_ids.size());
  EXPECT_TRUE(back.piece_bytes.empty());
}

TEST(SchedulerText, pieces_are_texts_and_bytes) {
  SchedulerWorld world;
  const auto tokens = world.one<wire::TokenizeReply>(world.send(wire::TokenizeRequest{"\u4e16"}));
  wire::DetokenizeRequest request{tokens.token_ids, false, true, true};
  const int32_t end = *testing::demo_tokenizer().token_id("<|im_end|>");
  request.token_ids.push_back(end);
  const auto shown = world.one<wire::DetokenizeReply>(world.send(request));
  std::string joined;
  for (const wire::ByteString& piece : shown.piece_bytes) joined += piece.bytes;
  EXPECT_EQ(joined, "\u4e16<|im_end|>");
  EXPECT_EQ(shown.pieces.front(), "\uFFFD");
  EXPECT_EQ(shown.pieces.back(), "<|im_end|>");
  request.skip_special = true;
  const auto skipped = world.one<wire::DetokenizeReply>(world.send(request));
  EXPECT_EQ(skipped.pieces.back() + skipped.piece_bytes.back().bytes, "");
}

TEST(SchedulerText, a_conversation_is_shown_as_its_prompt) {
  SchedulerWorld world;
  const auto shown = world.one<wire::ApplyTemplateReply>(world.send(template_request()));
  EXPECT_EQ(shown.prompt, "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  wire::GenerateRequest request;
  request.messages = template_request().messages;
  request.max_tokens = 1;
  const auto final = world.one<wire::Final>(world.send(request));
  EXPECT_EQ(final.usage.prompt_tokens, static_cast<int64_t>(shown.token_ids.size()));
}

// The history after an answer is rendered with the same effort as the prompt, so that the next turn
// finds it.
TEST(SchedulerText, all_that_is_rendered_has_the_effort_of_the_request) {
  SchedulerWorld world;
  using Mode = wire::EncodeJob::Mode;
  std::vector<std::pair<Mode, std::optional<std::string>>> rendered;
  world.on_outgoing = [&](const Outgoing& outgoing) {
    const auto* job = std::get_if<wire::EncodeJob>(&outgoing.envelope.message);
    if (job != nullptr) rendered.emplace_back(job->mode, job->reasoning_effort);
  };
  wire::ApplyTemplateRequest shown = template_request();
  shown.reasoning_effort = "low";
  world.one<wire::ApplyTemplateReply>(world.send(shown));
  wire::PrefixCache prefix;
  prefix.messages = shown.messages;
  prefix.reasoning_effort = "medium";
  world.one<wire::PrefixReply>(world.send(prefix));
  wire::GenerateRequest request;
  request.messages = shown.messages;
  request.reasoning_effort = "high";
  request.max_tokens = 3;
  request.retain_output = true;
  world.one<wire::Final>(world.send(request));
  EXPECT_THAT(rendered, ::testing::ElementsAre(
                            std::pair(Mode::kPrompt, "low"), std::pair(Mode::kBeginning, "medium"),
                            std::pair(Mode::kPrompt, "high"), std::pair(Mode::kHistory, "high")));
}

TEST(SchedulerText, ids_outside_the_vocabulary_are_named) {
  SchedulerWorld world;
  const Error error = world.error(world.send(wire::DetokenizeRequest{{1, 1 << 20}}));
  EXPECT_EQ(error.field, "token_ids[1]");
  EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
}

TEST(SchedulerText, too_many_texts_at_once_are_refused_with_a_time_to_try_again) {
  SchedulerWorld world;
  for (int i = 0; i < 64; ++i) world.post(wire::TokenizeRequest{"x"});
  const auto refused = world.all<wire::ErrorReply>(world.post(wire::TokenizeRequest{"x"}));
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.code, ErrorCode::kResourceExhausted);
  EXPECT_GT(refused[0].retry_after_ms, 0);
}

TEST(SchedulerText, a_text_whose_actor_was_restarted_has_an_error) {
  SchedulerWorld world;
  const uint64_t number = world.post(template_request());
  world.restart(Actor::kPrefill);
  EXPECT_EQ(world.error(number).code, ErrorCode::kInternal);
}

TEST(SchedulerText, a_request_that_retains_its_output_hears_the_outputs_id) {
  SchedulerWorld world;
  wire::GenerateRequest request;
  request.messages = template_request().messages;
  request.max_tokens = 1;
  EXPECT_EQ(world.one<wire::Accepted>(world.send(request)).output_id, "");
  request.retain_output = true;
  request.client_data = "mine";
  const uint64_t first = world.send(request), second = world.send(request);
  for (const uint64_t number : {first, second}) {
    const auto accepted = world.one<wire::Accepted>(number);
    EXPECT_EQ(world.one<wire::Final>(number).output_chunk_id, accepted.output_id);
    EXPECT_EQ(world.chunk(accepted.output_id).client_data, "mine");
  }
  // Equal answers with client data are two outputs.
  EXPECT_NE(world.one<wire::Accepted>(first).output_id,
            world.one<wire::Accepted>(second).output_id);
}

TEST(SchedulerText, when_one_door_is_back_the_clients_of_the_other_go_on) {
  SchedulerWorld world;
  wire::GenerateRequest request;
  request.messages = template_request().messages;
  const std::string boot_id = world.status().boot_id;
  world.core().on_actor_started(Actor::kHttp, kLocalTenant);
  world.post_from({kLocalTenant, "1", Door::kIpc}, request);
  world.post_from({kLocalTenant, "1", Door::kHttp}, request);
  world.core().on_actor_started(Actor::kHttp, kLocalTenant);
  world.pump();
  const auto after = world.status();
  EXPECT_EQ(after.requests_cancelled, 1);
  EXPECT_EQ(after.requests_done, 1);
  EXPECT_EQ(after.boot_id, boot_id);
}

}  // namespace
}  // namespace cascade
