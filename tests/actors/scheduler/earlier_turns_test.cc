// The turns that a prompt lacks are found again: by their outputs, or as texts.
#include "actors/scheduler/earlier_turns.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

using Ids = std::vector<std::string>;

class EarlierTurnsTest : public ::testing::Test {
 protected:
  EarlierTurnsTest() {
    request_.client.tenant = "alice";
    request_.on_overflow = OnOverflow::kRetrieve;
  }

  void add(const std::string& id, const Ids& parents, const std::string& from = "",
           const std::string& tenant = "alice") {
    Chunk chunk;
    chunk.id = id;
    chunk.type = id.starts_with("o") ? ChunkType::kOutput : ChunkType::kContext;
    chunk.tenant = tenant;
    chunk.text = "answer of " + id;
    chunk.query_text = "question of " + id;
    chunk.content_hash = id;
    chunk.parent_ids = parents;
    chunk.generation.left_out_from = from;
    ASSERT_TRUE(registry_.add(chunk).ok());
  }
  void say(const std::string& role, const std::string& content, const std::string& output = "") {
    if (!output.empty()) request_.answers.emplace_back(output, request_.messages.size());
    request_.messages.push_back({.role = role, .content = content, .reasoning = {}});
  }
  void note(const LeftOut& cut) {
    note_left_out(ConversationCuts(request_.messages), cut, request_);
  }

  ChunkRegistry registry_;
  Request request_;
};

TEST_F(EarlierTurnsTest, a_turn_is_noted_by_its_output_or_else_as_a_text) {
  say("system", "Be brief.");
  say("user", "a?");
  say("assistant", "A.", "o1");
  say("user", "b?");
  say("assistant", "calls");
  say("tool", "result");
  say("assistant", "B.");
  say("user", "c?");
  say("assistant", "C.");
  say("user", "d?");
  note({2, 0});
  EXPECT_EQ(request_.earlier.outputs, Ids{"o1"});
  EXPECT_EQ(request_.earlier.texts,
            (std::vector<EarlierTurn>{{"", "b?", "calls\n\nresult"}, {"", "", "B."}}));
  note({3, 0});
  EXPECT_EQ(request_.earlier.texts.back(), (EarlierTurn{"", "c?", "C."}));
}

TEST_F(EarlierTurnsTest, the_output_that_the_conversation_goes_on_after_leads_to_what_is_left_out) {
  for (const bool of_session : {false, true}) {
    request_ = {};
    request_.session_taken = of_session;
    request_.params.previous_output = of_session ? "" : "o2";
    if (of_session) request_.session_turns = {4, 5};
    for (const char* output : {"o1", "o2"}) {
      say("user", "a?");
      say("assistant", "A.", output);
    }
    say("user", "b?");
    note({1, 0});
    EXPECT_EQ(request_.earlier.from, "o2");
    request_.answers.clear();  // all are left out
    request_.answers_left_out = 2;
    note({2, 0});
    EXPECT_EQ(request_.earlier.from, "o2");
  }
}

TEST_F(EarlierTurnsTest, steps_that_are_left_out_are_texts_without_their_question) {
  say("user", "a?");
  for (int i = 0; i < 3; ++i) {
    say("assistant", "calls");
    say("tool", "result");
  }
  note({0, 2});
  EXPECT_EQ(request_.earlier.texts,
            (std::vector<EarlierTurn>{{"", "", "calls\n\nresult"}, {"", "", "calls\n\nresult"}}));
}

TEST_F(EarlierTurnsTest, only_requests_that_retrieve_note_anything) {
  request_.on_overflow = OnOverflow::kDropOldest;
  say("user", "a?");
  say("assistant", "A.", "o1");
  say("user", "b?");
  note({1, 0});
  EXPECT_TRUE(request_.earlier.outputs.empty());
  EXPECT_TRUE(request_.earlier.texts.empty());
}

TEST_F(EarlierTurnsTest, what_an_outputs_last_message_does_not_have_is_a_text) {
  say("user", "a document");
  say("user", "a?");
  say("assistant", "calls", "o1");
  say("tool", "first");
  say("tool", "second");
  say("assistant", "A.", "o2");
  say("user", "b?");
  note({1, 0});
  EXPECT_EQ(request_.earlier.outputs, (Ids{"o1", "o2"}));
  EXPECT_EQ(request_.earlier.texts,
            (std::vector<EarlierTurn>{{"", "a document", ""}, {"", "", "first"}}));
}

TEST_F(EarlierTurnsTest, outputs_say_where_what_they_lack_is_found) {
  add("context", {});
  add("o1", {"context"});
  add("o2", {"context", "o1"});
  add("o3", {"o2"}, "o2");  // o1 was left out when it was made
  add("o4", {"o2", "o3"}, "o2");
  add("o5", {"o4"}, "o4");
  request_.parent_ids = {"context", "o5"};
  request_.earlier.from = "o4";
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3", "o4"}));
  request_.earlier.outputs = {"o3", "o4"};
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3", "o4"}));
}

TEST_F(EarlierTurnsTest, an_output_that_was_named_by_its_id_brings_no_other_conversation) {
  add("o1", {});
  add("o2", {"o1"});  // another conversation, of which only o2 was named
  add("o3", {"o2"});
  request_.parent_ids = {"o3"};
  request_.earlier.from = "o3";
  EXPECT_EQ(outputs_left_out(request_, registry_), Ids{"o2"});
  request_.earlier.from.clear();
  EXPECT_TRUE(outputs_left_out(request_, registry_).empty());
}

TEST_F(EarlierTurnsTest, the_way_back_ends_at_an_output_that_is_gone_and_in_a_circle) {
  add("o3", {"o2"}, "o1");
  add("o4", {"o3"}, "o3");
  request_.parent_ids = {"o4"};
  request_.earlier.from = "o4";
  EXPECT_EQ(outputs_left_out(request_, registry_), Ids{"o3"});
  request_.earlier.outputs = {"o1", "o2", "o3"};
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3"}))
      << "a session names them itself";
  add("o5", {"o4"}, "o6");
  add("o6", {"o5"}, "o5");
  request_.earlier = {};
  request_.earlier.from = "o6";
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o5", "o6"}));
}

TEST_F(EarlierTurnsTest, nothing_of_other_tenants_is_found) {
  add("o1", {}, "", "bob");
  add("o2", {"o1"});
  request_.parent_ids = {"o2"};
  request_.earlier.from = "o2";
  EXPECT_TRUE(outputs_left_out(request_, registry_).empty());
  const Ids ids = {"o1", "o2"};
  EXPECT_EQ(texts_of(ids, ids, 10, 1000, "alice", registry_).size(), 1u);
}

TEST_F(EarlierTurnsTest, texts_are_the_best_ones_and_then_the_newest_as_far_as_they_fit) {
  const Ids ids = {"o1", "o2", "o3", "o4"};
  for (const std::string& id : ids) add(id, {});
  const auto chosen = [&](const Ids& best, size_t count, size_t bytes = 1000) {
    Ids found;
    for (const EarlierTurn& turn : texts_of(ids, best, count, bytes, "alice", registry_)) {
      EXPECT_EQ(turn.question, "question of " + turn.chunk_id);
      EXPECT_EQ(turn.answer, "answer of " + turn.chunk_id);
      found.push_back(turn.chunk_id);
    }
    return found;
  };
  EXPECT_EQ(chosen({}, 10), ids);
  EXPECT_EQ(chosen({"o2", "gone"}, 2), (Ids{"o2", "o4"})) << "in the order of the conversation";
  EXPECT_EQ(chosen({"o3", "o1"}, 1), Ids{"o3"});
  const size_t one = std::string("question of o1answer of o1").size();
  EXPECT_EQ(chosen({"o1"}, 10, 4 * one), ids);
  EXPECT_EQ(chosen({}, 10, 0), Ids());
}

TEST_F(EarlierTurnsTest, a_long_text_is_its_end_and_leaves_room_for_others) {
  Chunk chunk;
  chunk.id = "o1";
  chunk.type = ChunkType::kOutput;
  chunk.tenant = "alice";
  chunk.query_text = std::string(1000, 'q');
  chunk.text = "long " + std::string(200, 'a') + "é";
  chunk.content_hash = "o1";
  ASSERT_TRUE(registry_.add(chunk).ok());
  add("o2", {});
  const auto turns = texts_of({"o1", "o2"}, {}, 10, 400, "alice", registry_);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].answer, std::string(98, 'a') + "é");
  EXPECT_TRUE(turns[0].question.empty());
  EXPECT_EQ(turns[1].answer, "answer of o2");
}

TEST_F(EarlierTurnsTest, the_newest_texts_are_those_that_fit) {
  const std::vector<EarlierTurn> turns = {{"", "12", "34"}, {"", "1", ""}, {"", "", "ä23"}};
  const auto newest = [&](size_t bytes) { return newest_of(std::vector(turns), bytes); };
  EXPECT_EQ(newest(9), turns);
  EXPECT_EQ(newest(8), (std::vector<EarlierTurn>{{"", "2", "34"}, turns[1], turns[2]}));
  EXPECT_EQ(newest(5), (std::vector<EarlierTurn>{turns[1], turns[2]}));
  EXPECT_EQ(newest(3), (std::vector<EarlierTurn>{turns[1], {"", "", "23"}}))
      << "no part of a character";
  EXPECT_TRUE(newest(0).empty());
  EXPECT_TRUE(newest_of({}, 2).empty());
}

TEST_F(EarlierTurnsTest, the_place_of_what_was_brought_back_is_where_the_prompts_differ) {
  add("context", {});
  add("o1", {"context", "o0"});
  request_.retrieval = wire::Retrieval{{{"o1", "q", "a"}}, 100};
  request_.prompt = {1, 2, 3, 4, 5};
  wire::EncodeDone done;
  done.token_ids = {1, 2, 9, 9, 9, 3, 4, 5};
  done.retrieved = {{"o1", 3}, {"", 2}};
  done.retrieved_text = "text";
  take_retrieved(done, request_);
  EXPECT_EQ(request_.earlier.where.begin, 2);
  EXPECT_EQ(request_.earlier.where.end, 5);
  EXPECT_EQ(request_.retrieved.size(), 2u);
  EXPECT_EQ(request_.retrieved_text, "text");
  EXPECT_TRUE(request_.retrieval->turns.empty()) << "their texts are not needed any more";
  add_retrieved(registry_, request_);
  ASSERT_EQ(request_.texts.size(), 2u);
  EXPECT_EQ(request_.texts[0].chunk, (ChunkUses::ChunkName{"alice", "o1"}));
  EXPECT_EQ(request_.texts[1].chunk, (ChunkUses::ChunkName{"alice", "context"}))
      << "its question may have that text";
  for (const TextUse& text : request_.texts) {
    EXPECT_EQ(text.where.begin, 2);
    EXPECT_FALSE(text.is_output);
    EXPECT_TRUE(text.is_retrieved);
  }
}

TEST_F(EarlierTurnsTest, text_that_repeats_what_is_beside_it_has_a_place_too) {
  request_.prompt = {1, 7, 7, 2};
  wire::EncodeDone done;
  done.token_ids = {1, 7, 7, 7, 7, 7, 2};
  done.retrieved = {{"o1", 3}};
  take_retrieved(done, request_);
  EXPECT_EQ(request_.earlier.where.end - request_.earlier.where.begin, 3);
}

}  // namespace
}  // namespace cascade
