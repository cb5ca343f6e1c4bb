// Conversations that outgrow their room: the oldest turns are left out if the request says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/actors/durable_test.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kGeographer;
using testing::output_ref;
using testing::query_text;
using testing::SchedulerWorld;
using testing::system_text;

constexpr size_t kFewPages = 5;  // 320 tokens
constexpr int64_t kRoom = 320;
constexpr int kTurns = 18;  // of a conversation that is too long

class Overflow : public testing::DurableTest {
 protected:
  Overflow() : DurableTest({}, kFewPages) {}

  static wire::GenerateRequest drops(wire::GenerateRequest request) {
    request.on_overflow = OnOverflow::kDropOldest;
    request.max_tokens = 8;
    return request;
  }
  static std::string question(int number) {
    return "Tell me something about the town with the number " + std::to_string(number) + ".";
  }
  static wire::GenerateRequest turn(int number) {
    wire::GenerateRequest request = ask({system_text(kGeographer), query_text(question(number))});
    request.session = "trip";
    request.max_tokens = 8;
    return request;
  }
  // Questions and answers that end with a question.
  static std::vector<ChatMessage> chat(int turns) {
    std::vector<ChatMessage> messages = {
        {.role = "system", .content = kGeographer, .reasoning = {}}};
    for (int i = 1; i <= turns; ++i) {
      messages.push_back({.role = "user", .content = question(i), .reasoning = {}});
      if (i == turns) break;
      messages.push_back({.role = "assistant", .content = "It is a town.", .reasoning = {}});
    }
    return messages;
  }
  static wire::GenerateRequest of_messages(std::vector<ChatMessage> messages) {
    wire::GenerateRequest request;
    request.messages = std::move(messages);
    request.max_tokens = 8;
    request.sampling.temperature = 0;
    return request;
  }
  wire::Final run(wire::GenerateRequest request) {
    return world_->one<wire::Final>(world_->send(std::move(request)));
  }
  wire::SessionReply session() {
    return world_->one<wire::SessionReply>(world_->send(wire::SessionGet{"trip"}));
  }
};

TEST_F(Overflow, is_an_error_unless_the_request_says_otherwise) {
  const Error refused = world_->error(world_->send(of_messages(chat(40))));
  EXPECT_EQ(refused.field, "messages");
  EXPECT_EQ(refused.message.find("oldest turns"), std::string::npos) << refused.message;
  const wire::Final final = run(drops(of_messages(chat(40))));
  ASSERT_TRUE(final.left_out.has_value());
  EXPECT_GT(final.left_out->turns, 20);
  EXPECT_EQ(final.left_out->steps, 0);
  EXPECT_LE(final.usage.prompt_tokens, kRoom);
}

TEST_F(Overflow, a_conversation_that_fits_is_whole_and_the_reply_names_nothing) {
  const wire::Final whole = run(of_messages(chat(2)));
  const wire::Final same = run(drops(of_messages(chat(2))));
  EXPECT_EQ(same.token_ids, whole.token_ids);
  EXPECT_EQ(same.usage.prompt_tokens, whole.usage.prompt_tokens);
  EXPECT_FALSE(same.left_out.has_value());
}

TEST_F(Overflow, the_answer_is_that_to_the_messages_that_stay) {
  const wire::Final dropped = run(drops(of_messages(chat(40))));
  ASSERT_TRUE(dropped.left_out.has_value());
  std::vector<ChatMessage> kept = chat(40);
  kept.erase(kept.begin() + 1, kept.begin() + 1 + 2 * dropped.left_out->turns);
  wire::GenerateRequest cold = of_messages(kept);
  cold.reuse = false;
  const wire::Final same = run(cold);
  EXPECT_EQ(same.token_ids, dropped.token_ids);
  EXPECT_EQ(same.usage.prompt_tokens, dropped.usage.prompt_tokens);
}

TEST_F(Overflow, most_turns_of_a_chat_find_what_the_previous_one_computed) {
  int64_t computed_anew = 0;
  std::optional<LeftOut> before;
  for (int turns = 1; turns <= 40; ++turns) {
    const wire::Final final = run(drops(of_messages(chat(turns))));
    if (turns > 1 && final.left_out == before) {
      EXPECT_LT(final.usage.prefilled_tokens, 100) << "turn " << turns;
    } else {
      ++computed_anew;
    }
    before = final.left_out;
  }
  EXPECT_GE(computed_anew, 3);
  EXPECT_LE(computed_anew, 40 / 2);
}

TEST_F(Overflow, a_newest_turn_that_is_too_long_is_refused_and_told_what_was_tried) {
  std::vector<ChatMessage> messages = chat(3);
  for (int i = 0; i < 60; ++i) messages.back().content += " " + question(i);
  const Error refused = world_->error(world_->send(drops(of_messages(messages))));
  EXPECT_EQ(refused.field, "messages");
  EXPECT_NE(refused.message.find("No more turns can be left out"), std::string::npos)
      << refused.message;
}

TEST_F(Overflow, a_raw_prompt_has_no_turns) {
  wire::GenerateRequest request;
  request.prompt = "Once";
  EXPECT_EQ(run(request).left_out, std::nullopt);
}

TEST_F(Overflow, of_outputs_that_are_left_out_nothing_is_a_parent) {
  std::vector<wire::ChunkRef> chunks = {system_text(kGeographer),
                                        {ChunkType::kContext, "", "Towns have numbers."}};
  std::vector<std::string> outputs;
  for (int i = 1; i <= kTurns; ++i) {
    std::vector<wire::ChunkRef> next = chunks;
    next.push_back(query_text(question(i)));
    wire::GenerateRequest request = drops(ask(next));
    request.retain_output = true;
    const wire::Final final = run(request);
    ASSERT_FALSE(final.output_chunk_id.empty());
    chunks.push_back(output_ref(final.output_chunk_id));
    const std::vector<std::string> parents = world_->chunk(final.output_chunk_id).parent_ids;
    const size_t gone = final.left_out ? static_cast<size_t>(final.left_out->turns) : 0;
    ASSERT_FALSE(parents.empty());
    EXPECT_EQ(world_->chunk(parents.front()).type, ChunkType::kSystemPrompt);
    const std::vector<std::string> kept(outputs.begin() + static_cast<ptrdiff_t>(gone),
                                        outputs.end());
    const size_t others = gone == 0 ? 2 : 1;  // the context is of the first turn
    ASSERT_EQ(parents.size(), others + kept.size()) << "turn " << i;
    EXPECT_EQ(std::vector(parents.begin() + static_cast<ptrdiff_t>(others), parents.end()), kept);
    outputs.push_back(final.output_chunk_id);
    // The conversation goes on from this output with the turns that it was made of.
    if (i == kTurns) {
      EXPECT_GT(gone, 0u);
      wire::GenerateRequest on = drops(ask({query_text("And?")}));
      on.previous_output = final.output_chunk_id;
      on.retain_output = true;
      EXPECT_LE(run(on).usage.prompt_tokens, kRoom);
    }
  }
}

TEST_F(Overflow, a_session_keeps_the_choice_and_where_its_prompts_begin) {
  int64_t left_out = 0;
  for (int i = 1; i <= 20; ++i) {
    wire::GenerateRequest request = turn(i);
    if (i == 1) request.on_overflow = OnOverflow::kDropOldest;
    const wire::Final final = run(request);
    left_out = final.left_out ? final.left_out->turns : 0;
    const wire::SessionReply now = session();
    EXPECT_EQ(now.session.on_overflow, OnOverflow::kDropOldest);
    EXPECT_EQ(now.session.left_out_turns.value_or(0), left_out) << "turn " << i;
    EXPECT_EQ(now.session.turns, i) << "the turns themselves stay";
  }
  EXPECT_GT(left_out, 5);

  restart();
  EXPECT_EQ(session().session.left_out_turns, left_out);
  const wire::Final next = run(turn(21));
  ASSERT_TRUE(next.left_out.has_value());
  EXPECT_GE(next.left_out->turns, left_out);
}

TEST_F(Overflow, a_session_may_be_told_to_refuse_again) {
  for (int i = 1; i <= kTurns; ++i) run(drops(turn(i)));
  ASSERT_TRUE(session().session.left_out_turns.has_value());
  wire::GenerateRequest request = turn(kTurns + 1);
  request.on_overflow = OnOverflow::kError;
  const Error refused = world_->error(world_->send(request));
  EXPECT_EQ(refused.field, "chunks");
  EXPECT_EQ(session().session.on_overflow, OnOverflow::kDropOldest) << "it made no turn";
  EXPECT_EQ(run(turn(kTurns + 1)).left_out.has_value(), true);
}

TEST_F(Overflow, a_session_goes_on_although_a_turn_that_it_leaves_out_is_gone) {
  std::string first;
  for (int i = 1; i <= kTurns; ++i) {
    const wire::Final final = run(drops(turn(i)));
    if (i == 1) first = final.output_chunk_id;
  }
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{first, "", /*all=*/true}));
  EXPECT_TRUE(run(turn(kTurns + 1)).missing.empty());
}

TEST_F(Overflow, steps_of_the_newest_turn_are_left_out_when_an_agent_works_for_long) {
  std::vector<ChatMessage> messages = chat(1);
  for (int i = 0; i < 30; ++i) {
    messages.push_back({.role = "assistant", .content = "I look it up.", .reasoning = {}});
    messages.push_back({.role = "tool", .content = question(i), .reasoning = {}});
  }
  const wire::Final final = run(drops(of_messages(messages)));
  ASSERT_TRUE(final.left_out.has_value());
  EXPECT_EQ(final.left_out->turns, 0);
  EXPECT_GT(final.left_out->steps, 10);
  EXPECT_LE(final.usage.prompt_tokens, kRoom);
}

TEST_F(Overflow, of_messages_with_parents_those_that_are_left_out_are_no_parents) {
  std::vector<ChatMessage> messages = chat(1);
  std::vector<std::string> outputs;
  LeftOut left_out;
  for (int i = 1; i <= kTurns; ++i) {
    wire::GenerateRequest request = drops(of_messages(messages));
    request.retain_output = true;
    request.thinking = false;
    request.parents = outputs;
    const wire::Final final = run(request);
    left_out = final.left_out.value_or(LeftOut());
    const Chunk output = world_->chunk(final.output_chunk_id);
    EXPECT_EQ(output.parent_ids.size(), outputs.size() - static_cast<size_t>(left_out.turns));
    EXPECT_EQ(output.generation.left_out, final.left_out);
    outputs.push_back(final.output_chunk_id);
    messages.push_back({.role = "assistant", .content = output.text, .reasoning = {}});
    messages.push_back({.role = "user", .content = question(i + 1), .reasoning = {}});
  }
  EXPECT_GT(left_out.turns, 0);
}

TEST_F(Overflow, a_conversation_that_goes_on_after_an_output_counts_what_that_one_lacked) {
  std::string previous;
  int64_t left_out = 0;
  for (int i = 1; i <= kTurns + 4; ++i) {
    wire::GenerateRequest request = drops(ask({query_text(question(i))}));
    request.previous_output = previous;
    request.retain_output = true;
    const wire::Final final = run(request);
    const int64_t now = final.left_out ? final.left_out->turns : 0;
    EXPECT_GE(now, left_out) << "turn " << i;
    EXPECT_EQ(static_cast<int64_t>(world_->chunk(final.output_chunk_id).parent_ids.size()) + now,
              i - 1);
    left_out = now;
    previous = final.output_chunk_id;
  }
  ASSERT_GT(left_out, 4);
  wire::GenerateRequest request = ask({query_text("And?")});  // refuses to leave out more
  request.previous_output = previous;
  request.max_tokens = 8;
  EXPECT_GE(run(request).left_out->turns, left_out) << "it lacks them all the same";
}

TEST_F(Overflow, a_session_whose_turns_are_equal_counts_them_one_by_one) {
  for (int i = 1; i <= kTurns + 6; ++i) {
    const wire::Final final = run(drops(turn(7)));
    const int64_t left_out = final.left_out ? final.left_out->turns : 0;
    EXPECT_EQ(session().session.left_out_turns.value_or(0), left_out) << "turn " << i;
  }
  EXPECT_GT(session().session.left_out_turns.value_or(0), 6);
}

TEST_F(Overflow, turns_that_were_deleted_stay_missing_and_are_not_left_out) {
  std::vector<std::string> outputs;
  int64_t left_out = 0;
  for (int i = 1; i <= kTurns; ++i) {
    outputs.push_back(run(drops(turn(i))).output_chunk_id);
    left_out = session().session.left_out_turns.value_or(0);
  }
  for (size_t i = static_cast<size_t>(left_out); i < outputs.size(); ++i) {
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{outputs[i], "", /*all=*/true}));
  }
  wire::GenerateRequest skips = turn(50);
  skips.on_missing = OnMissing::kSkip;
  EXPECT_EQ(run(skips).missing.size(), outputs.size() - static_cast<size_t>(left_out));
  EXPECT_EQ(session().session.left_out_turns.value_or(0), left_out);
  EXPECT_EQ(world_->error(world_->send(turn(51))).code, ErrorCode::kNotFound);
}

TEST_F(Overflow, pinned_pages_of_others_leave_less_room) {
  wire::GenerateRequest pin = ask({query_text(question(1) + question(2) + question(3))});
  pin.retain_output = true;
  pin.output_pinned = true;
  pin.max_tokens = 8;
  run(pin);
  for (int i = 1; i <= kTurns; ++i) {
    EXPECT_LT(run(drops(turn(i))).usage.prompt_tokens, kRoom - 64) << "turn " << i;
  }
}

TEST_F(Overflow, a_window_that_does_not_fit_memory_has_its_room) {
  for (int i = 1; i <= kTurns; ++i) {
    wire::GenerateRequest request = drops(turn(i));
    request.attention = "window:512:64";
    EXPECT_LE(run(request).usage.prompt_tokens, kRoom) << "turn " << i;
  }
}

TEST_F(Overflow, chunks_with_more_text_than_any_prompt_can_have_are_left_out_with_their_turn) {
  const auto context = static_cast<size_t>(testing::demo_model().config.context_tokens_max);
  const auto put = world_->one<wire::ChunkReply>(world_->send(
      wire::ChunkPut{.type = ChunkType::kContext, .text = std::string(128 * context, 'x')}));
  wire::GenerateRequest first = ask({query_text(question(1))});
  first.retain_output = true;
  const std::string output = run(first).output_chunk_id;
  wire::GenerateRequest request = drops(
      ask({{ChunkType::kContext, put.chunk.id, ""}, output_ref(output), query_text(question(2))}));
  request.retain_output = true;
  const wire::Final final = run(request);
  EXPECT_EQ(final.left_out, (LeftOut{1, 0}));
  EXPECT_TRUE(world_->chunk(final.output_chunk_id).parent_ids.empty());
}

TEST_F(Overflow, an_answer_that_goes_on_stays) {
  std::vector<ChatMessage> messages = chat(30);
  messages.push_back({.role = "assistant", .content = "The town", .reasoning = {}});
  wire::GenerateRequest request = drops(of_messages(messages));
  request.continue_final_message = true;
  request.retain_output = true;
  const wire::Final final = run(request);
  ASSERT_TRUE(final.left_out.has_value());
  EXPECT_TRUE(world_->chunk(final.output_chunk_id).text.starts_with("The town"));
}

TEST_F(Overflow, more_text_than_any_prompt_can_have_is_left_out_before_it_is_tokenized) {
  std::vector<ChatMessage> messages = chat(12);
  const auto context = static_cast<size_t>(testing::demo_model().config.context_tokens_max);
  messages[1].content = std::string(128 * context, 'x');
  const wire::Final final = run(drops(of_messages(messages)));
  ASSERT_TRUE(final.left_out.has_value());
  EXPECT_GT(final.left_out->turns, 1);
}

// Memory has room for much more than the model's context.
class OverflowOfContext : public Overflow {
 protected:
  void SetUp() override {
    ThreadPool pool(1);
    auto loaded =
        load_model(testing::demo_model_dir(), {WeightType::kBf16, KvType::kBf16, best_isa()}, pool);
    ASSERT_TRUE(loaded.ok());
    model_ = *std::move(loaded);
    model_->config.context_tokens_max = kRoom;
    world_ = std::make_unique<SchedulerWorld>(SchedulerOptions{}, SchedulerWorld::kPages, nullptr,
                                              nullptr, *model_);
  }
  void TearDown() override { world_.reset(); }

  std::unique_ptr<Model> model_;
};

// Before there is no room, idle time computes the history without its oldest turns.
TEST_F(OverflowOfContext, no_turn_of_a_session_waits_for_what_stays_if_there_is_idle_time) {
  int64_t left_out = 0;
  int64_t longest = 0;
  for (int i = 1; i <= 40; ++i) {
    const wire::Final final = run(drops(turn(i)));  // and what is done in idle time
    EXPECT_LT(final.usage.prefilled_tokens, 64 + 40) << "turn " << i;
    const int64_t now = final.left_out ? final.left_out->turns : 0;
    EXPECT_GE(now, left_out);
    left_out = now;
    longest = std::max(longest, final.usage.prompt_tokens);
  }
  EXPECT_GT(left_out, 20);
  EXPECT_GT(longest, kRoom * 3 / 4) << "turns stay while there is room for them";
}

TEST_F(OverflowOfContext, what_is_computed_ahead_is_kept_when_turns_come_before_it_is_done) {
  int waited = 0;
  for (int i = 1; i <= 40; ++i) {
    const uint64_t number = world_->post(drops(turn(i)));
    while (world_->all<wire::Final>(number).empty() && world_->pump(1) > 0) continue;
    const auto final = world_->one<wire::Final>(number);
    EXPECT_LE(final.usage.prompt_tokens, kRoom);
    waited += final.usage.prefilled_tokens > 64 + 40 ? 1 : 0;
    world_->pump(3);  // hardly any idle time
  }
  EXPECT_LT(waited, 8);
}

TEST_F(OverflowOfContext, a_history_that_was_computed_ahead_is_forgotten_with_the_chunks_in_it) {
  std::vector<std::string> outputs;
  for (int i = 1; i <= 9; ++i) outputs.push_back(run(drops(turn(i))).output_chunk_id);
  ASSERT_FALSE(session().session.left_out_turns.has_value()) << "there is room still";
  for (const std::string& output : outputs) {
    world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{output, "", /*all=*/true}));
  }
  world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"trip", false}));
  for (int i = 1; i <= 9; ++i) {
    const wire::Final again = run(drops(turn(i)));
    // The system prompt, and what these turns have computed.
    EXPECT_LT(again.usage.reused_tokens, 30 + (i - 1) * 36) << "turn " << i;
  }
}

TEST_F(OverflowOfContext, what_was_planned_for_a_session_is_not_for_another_of_its_name) {
  for (int i = 1; i <= 9; ++i) run(drops(turn(i)));
  world_->one<wire::SessionReply>(world_->send(wire::SessionDelete{"trip", true}));
  for (int i = 1; i <= 9; ++i) {
    EXPECT_EQ(run(drops(turn(i))).left_out, std::nullopt) << "turn " << i;
  }
}

}  // namespace
}  // namespace cascade
