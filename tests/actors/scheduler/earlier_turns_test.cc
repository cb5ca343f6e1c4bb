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

  void add(const std::string& id, const Ids& parents, const std::string& tenant = "alice") {
    Chunk chunk;
    chunk.id = id;
    chunk.type = id.starts_with("o") ? ChunkType::kOutput : ChunkType::kContext;
    chunk.tenant = tenant;
    chunk.text = "answer of " + id;
    chunk.query_text = "question of " + id;
    chunk.content_hash = id;
    chunk.parent_ids = parents;
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
            (std::vector<EarlierTurn>{{"", "b?", "calls\n\nresult\n\nB."}}));
  note({3, 0});
  EXPECT_EQ(request_.earlier.texts.back(), (EarlierTurn{"", "c?", "C."}));
}

TEST_F(EarlierTurnsTest, steps_that_are_left_out_are_texts_without_their_question) {
  say("user", "a?");
  for (int i = 0; i < 3; ++i) {
    say("assistant", "calls");
    say("tool", "result");
  }
  note({0, 2});
  EXPECT_EQ(request_.earlier.texts,
            (std::vector<EarlierTurn>{{"", "", "calls\n\nresult\n\ncalls\n\nresult"}}));
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

TEST_F(EarlierTurnsTest, outputs_lead_to_those_that_they_were_made_of) {
  add("context", {});
  add("o1", {"context"});
  add("o2", {"context", "o1"});
  add("o3", {"o2"});  // o1 was left out by then
  add("o4", {"o3"});
  add("o5", {"o4"});
  request_.parent_ids = {"context", "o5"};
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3", "o4"}));
  request_.earlier.outputs = {"o3", "o4"};
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3", "o4"}));
}

TEST_F(EarlierTurnsTest, an_output_that_is_gone_hides_what_only_it_names) {
  add("o1", {});
  add("o3", {"o2"});  // o2, which named o1, was deleted
  add("o4", {"o3"});
  request_.parent_ids = {"o4"};
  EXPECT_EQ(outputs_left_out(request_, registry_), Ids{"o3"});
  request_.earlier.outputs = {"o1", "o2", "o3"};
  EXPECT_EQ(outputs_left_out(request_, registry_), (Ids{"o1", "o2", "o3"}))
      << "a session names it itself";
}

TEST_F(EarlierTurnsTest, nothing_of_other_tenants_is_found) {
  add("o1", {}, "bob");
  add("o2", {"o1"});
  request_.parent_ids = {"o2"};
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
  EXPECT_EQ(chosen({"o1"}, 10, 2 * one), (Ids{"o1", "o4"}));
  EXPECT_TRUE(chosen({"o1"}, 10, one - 1).empty());
}

TEST_F(EarlierTurnsTest, the_newest_texts_are_those_that_fit) {
  const std::vector<EarlierTurn> turns = {{"", "12", "34"}, {"", "1", ""}, {"", "", "123"}};
  EXPECT_EQ(newest_of(turns, 8).size(), 3u);
  EXPECT_EQ(newest_of(turns, 7).size(), 2u);
  EXPECT_EQ(newest_of(turns, 3).front().answer, "123");
  EXPECT_TRUE(newest_of(turns, 2).empty());
  EXPECT_TRUE(newest_of({}, 2).empty());
}

TEST_F(EarlierTurnsTest, the_place_of_what_was_brought_back_is_where_the_prompts_differ) {
  add("o1", {});
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
  ASSERT_EQ(request_.texts.size(), 1u);
  EXPECT_EQ(request_.texts[0].chunk, (ChunkUses::ChunkName{"alice", "o1"}));
  EXPECT_EQ(request_.texts[0].where.begin, 2);
  EXPECT_FALSE(request_.texts[0].is_output);
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
