// A request loses messages and parents with the turns that it leaves out.
#include "actors/scheduler/overflow.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

using Ids = std::vector<std::string>;

class OverflowTest : public ::testing::Test {
 protected:
  OverflowTest() { request_.client.tenant = "alice"; }

  void add(const std::string& id, ChunkType type, const std::string& text) {
    Chunk chunk;
    chunk.id = id;
    chunk.type = type;
    chunk.tenant = "alice";
    chunk.text = text;
    chunk.content_hash = id;
    ASSERT_TRUE(registry_.add(chunk).ok());
  }
  void say(const std::string& role, const std::string& content) {
    request_.messages.push_back({.role = role, .content = content, .reasoning = {}});
  }
  // A session with turns 4 to 7, whose outputs are "o4" to "o7", and a question.
  void take_session_turn() {
    say("system", "Be brief.");
    for (int64_t turn = 4; turn < 8; ++turn) {
      const std::string id = "o" + std::to_string(turn);
      say("user", "question");
      request_.answers.emplace_back(id, request_.messages.size());
      request_.session_turns.push_back(turn);
      request_.parent_ids.push_back(id);
      say("assistant", "answer");
    }
    say("user", "question");
    request_.session_taken = true;
    request_.params.session = "trip";
    request_.on_overflow = OnOverflow::kDropOldest;
  }

  ChunkRegistry registry_;
  Request request_;
};

TEST_F(OverflowTest, answers_are_found_in_their_order) {
  add("a", ChunkType::kOutput, "Yes.");
  add("b", ChunkType::kOutput, "No.");
  add("c", ChunkType::kOutput, "Yes.");
  add("d", ChunkType::kOutput, "Never said.");
  for (const char* answer : {"Yes.", "No.", "Yes."}) {
    say("user", "Yes.");
    say("assistant", answer);
  }
  find_answers({"a", "b", "unknown", "d", "c"}, registry_, request_);
  EXPECT_EQ(request_.answers,
            (std::vector<std::pair<std::string, size_t>>{{"a", 1}, {"b", 3}, {"c", 5}}));
}

TEST_F(OverflowTest, chunks_of_turns_that_are_left_out_are_no_parents) {
  add("system", ChunkType::kSystemPrompt, "Be brief.");
  say("system", "Be brief.");
  for (const char* output : {"o1", "o2", "o3"}) {
    say("user", "question");
    request_.answers.emplace_back(output, request_.messages.size());
    say("assistant", "answer");
  }
  say("user", "question");
  request_.parent_ids = {"system", "context1", "o1", "context2",
                         "o2",     "context3", "o3", "context4"};
  leave_out({2, 0}, registry_, request_);
  EXPECT_EQ(request_.parent_ids, (Ids{"system", "context3", "o3", "context4"}));
  EXPECT_EQ(request_.messages.size(), 4u);
  EXPECT_EQ(request_.answers, (std::vector<std::pair<std::string, size_t>>{{"o3", 2}}));
  EXPECT_EQ(request_.left_out, (LeftOut{2, 0}));
  leave_out({1, 0}, registry_, request_);
  EXPECT_EQ(request_.parent_ids, (Ids{"system", "context4"}));
  EXPECT_EQ(request_.left_out, (LeftOut{3, 0})) << "what was left out before counts";
}

TEST_F(OverflowTest, steps_count_from_the_beginning_of_their_turn) {
  for (const char* role : {"user", "assistant", "tool", "assistant", "tool", "assistant", "tool"}) {
    say(role, "x");
  }
  leave_out({0, 1}, registry_, request_);
  leave_out({0, 1}, registry_, request_);
  EXPECT_EQ(request_.left_out, (LeftOut{0, 2}));
  EXPECT_EQ(request_.messages.size(), 3u);
}

TEST_F(OverflowTest, the_message_that_the_answer_goes_on_with_is_a_step) {
  for (const char* role : {"user", "assistant", "tool"}) say(role, "x");
  request_.params.continue_final_message = true;
  take_left_out({0, 1}, registry_, request_);
  EXPECT_EQ(request_.messages.size(), 1u);
}

TEST_F(OverflowTest, only_what_may_not_fit_by_its_bytes_is_cut_before_it_is_tokenized) {
  say("system", "12345");
  for (int i = 0; i < 3; ++i) {
    say("user", "1234567890");
    say("assistant", "1234567890");
  }
  say("user", "1234567890");
  EXPECT_EQ(cut_by_bytes(request_, 75), LeftOut());
  EXPECT_EQ(cut_by_bytes(request_, 74), (LeftOut{2, 0})) << "half of 69 bytes for the history";
  EXPECT_EQ(bytes_after(request_, {2, 0}), 35);
}

TEST_F(OverflowTest, a_place_is_found_by_the_number_of_the_sessions_turn) {
  take_session_turn();
  EXPECT_EQ(cut_before(request_, 6), (LeftOut{2, 0}));
  EXPECT_EQ(cut_before(request_, 8), (LeftOut{4, 0}));
  EXPECT_EQ(cut_before(request_, 4), LeftOut());
  EXPECT_EQ(cut_before(request_, 9), LeftOut());
  leave_out({1, 0}, registry_, request_);
  EXPECT_EQ(request_.session_begin(request_.answers_left_out), 5);
  EXPECT_EQ(cut_before(request_, 6), (LeftOut{1, 0}));
}

TEST_F(OverflowTest, a_turn_that_was_missing_is_not_left_out) {
  take_session_turn();
  request_.session_turns = {4, 7, 8, 9};
  EXPECT_EQ(cut_before(request_, 5), (LeftOut{1, 0})) << "turns 5 and 6 are missing, not left out";
}

TEST_F(OverflowTest, a_shorter_history_is_computed_when_the_next_turn_might_not_fit) {
  take_session_turn();
  request_.prompt_room = 1000;
  request_.prefilled_tokens = 20;
  wire::EncodeJob whole;
  whole.messages = request_.messages;
  whole.messages.push_back({.role = "assistant", .content = "answer", .reasoning = {}});
  Reprefill sampled;
  sampled.tenant = "alice";
  sampled.chunk_id = "o8";
  constexpr int64_t kMuch = 10'000;
  sampled.sampled_chain.resize(750);
  EXPECT_FALSE(shorten_ahead(request_, whole, sampled, {}, kMuch)) << "a quarter is free";
  sampled.sampled_chain.resize(751);
  EXPECT_FALSE(shorten_ahead(request_, whole, sampled, {}, 1250)) << "no memory for both";
  const auto ahead = shorten_ahead(request_, whole, sampled, {}, kMuch);
  ASSERT_TRUE(ahead.has_value());
  EXPECT_EQ(ahead->chain.shorter->begins, (std::vector<int64_t>{0, 5, 6, 7, 8}));
  EXPECT_EQ(ahead->chain.shorter->left_out, LeftOut());
  EXPECT_EQ(ahead->job.messages.size(), whole.messages.size());
  const auto planned = shorten_ahead(request_, whole, sampled, 6, kMuch);
  EXPECT_EQ(planned->chain.shorter->left_out, (LeftOut{2, 0}));
  EXPECT_EQ(planned->job.messages.size(), whole.messages.size() - 4);
  whole.follower = "tool";
  EXPECT_FALSE(shorten_ahead(request_, whole, sampled, {}, kMuch)) << "the turn goes on";
  whole.follower = "user";
  request_.on_overflow = OnOverflow::kError;
  EXPECT_FALSE(shorten_ahead(request_, whole, sampled, {}, kMuch));
}

}  // namespace
}  // namespace cascade
