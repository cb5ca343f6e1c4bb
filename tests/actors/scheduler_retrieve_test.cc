// Conversations that outgrow their room get back what answers the newest question.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/actors/overflow_test_base.h"

namespace cascade {
namespace {

using testing::ask;
using testing::kGeographer;
using testing::query_text;
using testing::system_text;

constexpr size_t kPagesToRetrieve = 12;  // 768 tokens
constexpr int kTurnsBefore = 12;         // of a conversation that is too long
constexpr const char* kFact = "The code of my red box is 4711.";
constexpr const char* kQuestion = "What is the code of my red box?";

class Retrieve : public testing::OverflowTestBase {
 protected:
  Retrieve() : OverflowTestBase(OnOverflow::kRetrieve, kPagesToRetrieve) {}

  // The session begins with the fact, which is left out later. Returns the output of its turn.
  std::string tell() {
    std::string told = say(kFact).output_chunk_id;
    for (int i = 1; i < kTurnsBefore; ++i) say(remark(i));
    return told;
  }
  // A request of messages with the same prompt: the session's turns that stay, and the question
  // with what came back before it.
  wire::GenerateRequest as_messages(const wire::Final& final, int64_t left_out,
                                    const std::string& question) {
    wire::GenerateRequest request;
    request.messages = {{.role = "system", .content = kGeographer, .reasoning = {}}};
    const wire::SessionReply turns = session();
    for (size_t i = static_cast<size_t>(left_out); i < turns.turns.size(); ++i) {
      const Chunk chunk = world_->chunk(turns.turns[i].output_id);
      if (chunk.id == final.output_chunk_id) break;
      request.messages.push_back({.role = "user", .content = chunk.query_text, .reasoning = {}});
      request.messages.push_back({.role = "assistant", .content = chunk.text, .reasoning = {}});
    }
    request.messages.push_back(
        {.role = "user", .content = final.retrieved_text + question, .reasoning = {}});
    request.sampling.temperature = 0;
    request.max_tokens = 4;
    return request;
  }
  wire::Final cold(const wire::Final& final, const std::string& question) {
    wire::GenerateRequest request =
        as_messages(final, final.left_out ? final.left_out->turns : 0, question);
    request.reuse = false;
    return run(request);
  }
};

TEST_F(Retrieve, what_answers_the_question_is_before_it_and_the_rest_is_as_without_it) {
  const std::string told = tell();
  const wire::Final final = say(kQuestion);
  ASSERT_TRUE(final.left_out.has_value());
  EXPECT_NE(final.retrieved_text.find("User: " + std::string(kFact)), std::string::npos)
      << final.retrieved_text;
  EXPECT_TRUE(std::ranges::any_of(final.retrieved,
                                  [&](const Retrieved& part) { return part.chunk_id == told; }));
  const wire::Final same = cold(final, kQuestion);
  EXPECT_EQ(same.token_ids, final.token_ids);
  EXPECT_EQ(same.usage.prompt_tokens, final.usage.prompt_tokens);
  EXPECT_LE(final.usage.prompt_tokens, static_cast<int64_t>(kPagesToRetrieve) * kPageTokens);
}

TEST_F(Retrieve, the_history_before_the_question_is_found_and_later_turns_lack_what_came_back) {
  tell();
  wire::Final before, final = say(kQuestion);
  // The turn that leaves out something computes what stays.
  for (int i = 0; i < 3 && final.left_out != before.left_out; ++i) {
    before = std::move(final);
    final = say(kQuestion);
  }
  ASSERT_FALSE(final.retrieved.empty());
  EXPECT_GT(final.usage.reused_tokens, 200);
  EXPECT_LT(final.usage.prefilled_tokens, 200) << "what came back, and the question";
  EXPECT_EQ(world_->chunk(final.output_chunk_id).query_text, kQuestion);
  const wire::Final next = say("zebra");
  EXPECT_TRUE(next.retrieved.empty());
  EXPECT_TRUE(next.retrieved_text.empty());
  const wire::Final same = cold(next, "zebra");
  EXPECT_EQ(same.token_ids, next.token_ids);
  EXPECT_EQ(same.usage.prompt_tokens, next.usage.prompt_tokens);
  EXPECT_LT(next.usage.prefilled_tokens, 100) << "the answer was computed anew in idle time";
}

TEST_F(Retrieve, the_reply_the_chunk_and_the_session_say_what_came_back_also_after_a_restart) {
  const std::string told = tell();
  const wire::Final final = say(kQuestion);
  ASSERT_FALSE(final.retrieved.empty());
  for (const Retrieved& part : final.retrieved) EXPECT_GT(part.tokens, 0);
  EXPECT_EQ(world_->chunk(final.output_chunk_id).generation.retrieved, final.retrieved);
  EXPECT_EQ(session().session.retrieved, final.retrieved);
  EXPECT_EQ(session().session.on_overflow, OnOverflow::kRetrieve);
  restart();
  EXPECT_EQ(world_->chunk(final.output_chunk_id).generation.retrieved, final.retrieved);
  EXPECT_EQ(session().session.retrieved, final.retrieved);
  wire::GenerateRequest again = turn("And the code of my red box once more?");
  again.session = "trip";
  again.on_overflow.reset();
  EXPECT_NE(run(again).retrieved_text.find("4711"), std::string::npos) << "the session's choice";
}

TEST_F(Retrieve, brings_back_nothing_while_the_whole_conversation_has_room) {
  say(kFact);
  const wire::Final final = say(kQuestion);
  EXPECT_FALSE(final.left_out.has_value());
  EXPECT_TRUE(final.retrieved.empty());
}

TEST_F(Retrieve, of_messages_turns_come_back_that_no_output_stands_for) {
  wire::GenerateRequest request;
  request.messages = {{.role = "system", .content = kGeographer, .reasoning = {}},
                      {.role = "user", .content = kFact, .reasoning = {}},
                      {.role = "assistant", .content = "I shall remember that.", .reasoning = {}}};
  for (int i = 1; i < kTurnsBefore; ++i) {
    request.messages.push_back({.role = "user", .content = remark(i), .reasoning = {}});
    request.messages.push_back({.role = "assistant", .content = "I see.", .reasoning = {}});
  }
  request.messages.push_back({.role = "user", .content = kQuestion, .reasoning = {}});
  request.sampling.temperature = 0;
  request.max_tokens = 4;
  request.on_overflow = OnOverflow::kRetrieve;
  const wire::Final final = run(request);
  EXPECT_NE(final.retrieved_text.find(kFact), std::string::npos);
  ASSERT_FALSE(final.retrieved.empty());
  EXPECT_EQ(final.retrieved.front().chunk_id, "");
  const wire::Final again = run(request);
  EXPECT_EQ(again.retrieved_text, final.retrieved_text);
  EXPECT_EQ(again.token_ids, final.token_ids);
  EXPECT_LE(again.usage.prefilled_tokens, kPageTokens) << "the same request has the same prompt";
}

TEST_F(Retrieve, a_conversation_that_goes_on_after_an_output_finds_what_that_one_lacked) {
  std::string previous = run(turn(kFact)).output_chunk_id;
  const std::string told = previous;
  for (int i = 1; i < kTurnsBefore; ++i) {
    wire::GenerateRequest next = turn(remark(i));
    next.previous_output = previous;
    previous = run(next).output_chunk_id;
  }
  const std::vector<std::string> parents = world_->chunk(previous).parent_ids;
  ASSERT_EQ(std::ranges::find(parents, told), parents.end());
  wire::GenerateRequest asks = turn(kQuestion);
  asks.previous_output = previous;
  EXPECT_NE(run(asks).retrieved_text.find("4711"), std::string::npos);
}

TEST_F(Retrieve, a_turn_that_was_deleted_does_not_come_back_and_is_in_no_prompt_that_had_it) {
  const std::string told = tell();
  wire::GenerateRequest asks = turn(kQuestion);
  asks.previous_output = session().turns.back().output_id;
  asks.retain_output = false;
  const wire::Final final = run(asks);
  ASSERT_NE(final.retrieved_text.find("4711"), std::string::npos);
  const auto same_prompt = [&] {
    wire::GenerateRequest request = as_messages(final, final.left_out->turns, kQuestion);
    request.reuse = true;
    return run(request).usage;
  };
  const int64_t tokens = final.usage.prompt_tokens;
  EXPECT_GT(same_prompt().reused_tokens, tokens - kPageTokens);
  world_->one<wire::ChunkReply>(world_->send(wire::ChunkDelete{told, "", /*all=*/true}));
  EXPECT_LT(same_prompt().reused_tokens, tokens - final.retrieved.front().tokens);
  asks.on_missing = OnMissing::kSkip;
  const wire::Final again = run(asks);
  EXPECT_EQ(again.retrieved_text.find("4711"), std::string::npos) << again.retrieved_text;
}

TEST_F(Retrieve, pages_with_a_turn_that_is_deleted_while_its_text_is_computed_are_forgotten) {
  const std::string told = tell();
  wire::GenerateRequest asks = turn(kQuestion);
  asks.session = "trip";
  const uint64_t number = world_->post(asks);
  while (world_->next_job<wire::DecodeJob>() == nullptr) world_->pump(1);
  const uint64_t deleted = world_->post(wire::ChunkDelete{told, "", /*all=*/true});
  world_->pump();
  world_->one<wire::ChunkReply>(deleted);
  const wire::Final final = world_->one<wire::Final>(number);
  ASSERT_NE(final.retrieved_text.find("4711"), std::string::npos) << "it had been brought back";
  wire::GenerateRequest same = as_messages(final, final.left_out->turns, kQuestion);
  same.reuse = true;
  EXPECT_LT(run(same).usage.reused_tokens,
            final.usage.prompt_tokens - final.retrieved.front().tokens);
}

TEST_F(Retrieve, conversations_whose_prompts_became_equal_keep_their_own_turns) {
  const auto tell_from = [&](const std::string& fact) {
    std::string previous = run(turn(fact)).output_chunk_id;
    for (int i = 1; i < kTurnsBefore; ++i) {
      wire::GenerateRequest next = turn(remark(i));
      next.previous_output = previous;
      previous = run(next).output_chunk_id;
    }
    return previous;
  };
  const std::string first = tell_from("The code of my red box is 4711.");
  const std::string second = tell_from("The code of my red box is 8266.");
  EXPECT_NE(first, second) << "they lack different turns";
  for (const bool is_first : {true, false}) {
    wire::GenerateRequest asks = turn(kQuestion);
    asks.previous_output = is_first ? first : second;
    const std::string text = run(asks).retrieved_text;
    EXPECT_EQ(text.find("4711") != std::string::npos, is_first) << text;
    EXPECT_EQ(text.find("8266") != std::string::npos, !is_first) << text;
  }
}

TEST_F(Retrieve, a_request_may_be_cancelled_at_each_step) {
  tell();
  size_t steps = 0;
  for (bool ended = false; !ended; ++steps) {
    wire::GenerateRequest request = turn(kQuestion);
    request.session = "trip";
    const uint64_t number = world_->post(request);
    world_->pump(steps);
    ended = !world_->all<wire::Final>(number).empty();
    world_->send(wire::CancelRequest{testing::request_id(number)});
    world_->one<wire::Final>(number);
  }
  EXPECT_GT(steps, 3u);
  EXPECT_NE(say(kQuestion).retrieved_text.find("4711"), std::string::npos);
}

}  // namespace
}  // namespace cascade
