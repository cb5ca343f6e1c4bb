// What becomes of thoughts, and of answers that nobody can go on from.
#include <gtest/gtest.h>

#include "model/conversation.h"
#include "tests/actors/scheduler_world.h"
#include "tests/actors/scripted_answer.h"

namespace cascade {
namespace {

using testing::ask;
using testing::demo_model;
using testing::query_text;
using testing::SchedulerWorld;
using testing::Scripted;
using testing::system_text;

wire::GenerateRequest capital_question() {
  auto request = ask(
      {system_text("You are a helpful assistant."), query_text("What is the capital of Japan?")});
  request.retain_output = true;
  return request;
}

TEST(ThinkPolicies, the_daemons_holds_unless_the_request_names_one) {
  for (const ThinkPolicy policy :
       {ThinkPolicy::kReprefill, ThinkPolicy::kKeep, ThinkPolicy::kDrop}) {
    SchedulerOptions options;
    options.think_policy = policy;
    SchedulerWorld world(options);
    const auto final = world.one<wire::Final>(world.send(capital_question()));
    EXPECT_EQ(final.think_policy, policy);
    EXPECT_EQ(world.chunk(final.output_chunk_id).think_policy, policy);
    auto other = capital_question();
    other.think_policy = ThinkPolicy::kDrop;
    const auto dropped = world.one<wire::Final>(world.send(other));
    EXPECT_EQ(world.chunk(dropped.output_chunk_id).think_policy, ThinkPolicy::kDrop);
  }
}

TEST(ThinkPolicies, a_tool_loop_keeps_its_thoughts_and_the_next_turn_does_not) {
  SchedulerWorld world(testing::bursts_of(1));
  const std::string call = "<tool_call>\n{\"name\": \"clock\"}\n</tool_call>";
  auto script = std::make_unique<Scripted>(
      world, "<think>\nI do not know the time, so I ask.\n</think>\n\n" + call);
  auto request = ask({});
  request.messages = {{.role = "system", .content = "Use the clock.", .reasoning = {}},
                      {.role = "user", .content = "What time is it?", .reasoning = {}}};
  request.retain_output = true;
  const auto first = world.one<wire::Final>(world.send(request));
  ASSERT_EQ(first.text, call);
  ASSERT_FALSE(first.reasoning.empty());
  script.reset();
  const Chunk output = world.chunk(first.output_chunk_id);
  EXPECT_EQ(output.kv_state, KvState::kReady);

  auto loop = ask({});
  loop.max_tokens = 2;
  loop.messages = request.messages;
  loop.messages.push_back(
      {.role = "assistant", .content = first.text, .reasoning = first.reasoning});
  loop.messages.push_back({.role = "tool", .content = "12:30", .reasoning = {}});
  const auto second = world.one<wire::Final>(world.send(loop));
  EXPECT_EQ(second.usage.reused_tokens, output.kv_tokens);
  EXPECT_GE(output.kv_tokens, first.usage.prompt_tokens + first.usage.completion_tokens - 1);

  auto next_turn = loop;
  next_turn.messages.back() = {.role = "user", .content = "Thanks", .reasoning = {}};
  const auto third = world.one<wire::Final>(world.send(next_turn));
  EXPECT_LE(third.usage.reused_tokens, first.usage.prompt_tokens);
  EXPECT_EQ(third.usage.miss.reason, MissReason::kDiffers);
}

TEST(ToolCalls, are_known_by_how_models_write_them) {
  EXPECT_TRUE(calls_tool("Let me look.\n<tool_call>\n{}\n</tool_call>\n"));
  EXPECT_TRUE(calls_tool("[TOOL_CALLS][{\"name\": \"x\"}]"));
  EXPECT_TRUE(calls_tool(" <|tool_call|>[{}]"));
  EXPECT_FALSE(calls_tool(""));
  EXPECT_FALSE(calls_tool(" \n"));
  EXPECT_FALSE(calls_tool("</tool_call> is how a call ends."));
}

class DeadEnds : public ::testing::Test {
 protected:
  int64_t pages_used() {
    return world_.one<wire::StatsReply>(world_.post(wire::StatsRequest{})).cache->pages_used;
  }
  // Generates until `tokens` were sampled.
  uint64_t generate(int tokens) {
    auto request = capital_question();
    request.retain_output = false;
    request.stream = true;
    request.ignore_eos = true;
    const int64_t before = world_.status().tokens_generated;
    const uint64_t number = world_.post(request, "leaver");
    while (generated() - before < tokens) EXPECT_EQ(world_.pump(1), 1u);
    return number;
  }
  int64_t generated() {
    return world_.one<wire::StatusReply>(world_.post(wire::StatusRequest{})).tokens_generated;
  }

  SchedulerWorld world_{testing::bursts_of(1)};
};

TEST_F(DeadEnds, of_a_client_that_went_away_the_prompt_stays) {
  auto prompt_only = capital_question();
  prompt_only.retain_output = false;
  prompt_only.max_tokens = 1;
  const auto first = world_.one<wire::Final>(world_.send(prompt_only));
  const int64_t pages = pages_used();
  generate(150);
  world_.post(wire::ClientGone{}, "leaver");
  world_.pump();
  EXPECT_EQ(pages_used(), pages);
  EXPECT_EQ(world_.one<wire::Final>(world_.send(prompt_only)).usage.prefilled_tokens, 1);
}

TEST_F(DeadEnds, half_an_answer_stays_as_a_conversation_may_go_on_from_it) {
  const uint64_t number = generate(150);
  world_.post(wire::CancelRequest{testing::request_id(number)}, "leaver");
  world_.pump();
  const auto final = world_.one<wire::Final>(number);
  ASSERT_EQ(final.finish_reason, "cancelled");
  auto next = ask({});
  next.max_tokens = 1;
  next.messages = {{.role = "system", .content = "You are a helpful assistant.", .reasoning = {}},
                   {.role = "user", .content = "What is the capital of Japan?", .reasoning = {}},
                   {.role = "assistant", .content = final.text, .reasoning = {}},
                   {.role = "user", .content = "Go on.", .reasoning = {}}};
  const auto usage = world_.one<wire::Final>(world_.send(next)).usage;
  EXPECT_GT(usage.reused_tokens, final.usage.prompt_tokens);
}

TEST_F(DeadEnds, half_a_thought_is_of_no_use) {
  auto prompt_only = capital_question();
  prompt_only.retain_output = false;
  prompt_only.max_tokens = 1;
  world_.one<wire::Final>(world_.send(prompt_only));
  const int64_t pages = pages_used();
  std::string thought = "<think>\n";
  for (int i = 0; i < 200; ++i) thought += "I wonder. ";
  Scripted script(world_, thought);
  const uint64_t number = generate(150);
  world_.post(wire::CancelRequest{testing::request_id(number)}, "leaver");
  world_.pump();
  EXPECT_TRUE(world_.one<wire::Final>(number).text.empty());
  EXPECT_EQ(pages_used(), pages);
}

TEST(IdleMemory, is_given_back_and_comes_back_empty_handed) {
  // The pages of deleted chunks are free, and nobody needs them for a while.
  SchedulerWorld world;
  const auto first = world.one<wire::Final>(world.send(capital_question()));
  world.send(wire::ChunkDelete{first.output_chunk_id});
  for (int i = 0; i < 3; ++i) {
    world.clock.advance_us(11'000'000);
    world.core().on_tick();
  }
  // The answer that is computed in these pages afterwards is the same.
  const auto again = world.one<wire::Final>(world.send(capital_question()));
  EXPECT_EQ(again.token_ids, first.token_ids);
  EXPECT_EQ(again.logprobs, first.logprobs);
}

}  // namespace
}  // namespace cascade
