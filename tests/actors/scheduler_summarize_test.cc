// Conversations that outgrow their room go on with summaries of their oldest turns.
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

constexpr size_t kPagesToSummarize = 16;  // 1,024 tokens
constexpr int kTurnsToLeaveOut = 16;      // then turns are left out

class Summarize : public testing::OverflowTestBase {
 protected:
  Summarize() : OverflowTestBase(OnOverflow::kSummarize, kPagesToSummarize) {}

  // Turns until some are left out. Returns the last one.
  wire::Final talk() {
    wire::Final last;
    for (int i = 1; i <= kTurnsToLeaveOut && !last.left_out; ++i) last = say(remark(i));
    return last;
  }
  std::vector<Chunk> summaries() {
    wire::ChunkListRequest request;
    request.type = ChunkType::kSummary;
    request.limit = 100;
    std::vector<Chunk> chunks;
    for (const auto& listed : world_->one<wire::ChunkListReply>(world_->send(request)).chunks) {
      chunks.push_back(world_->chunk(listed.id));
    }
    return chunks;
  }
  std::string text_of(const wire::Final& final) {
    std::string text = "Summary of this conversation so far:";
    for (const std::string& id : final.summarised->chunk_ids) {
      text += "\n\n" + world_->chunk(id).text;
    }
    return text + "\n\nNow:\n\n";
  }
  // The answer to a prompt with the same messages, computed from nothing.
  wire::Final cold(const wire::Final& final, const std::string& question) {
    wire::GenerateRequest request;
    request.messages = {{.role = "system", .content = kGeographer, .reasoning = {}}};
    const wire::SessionReply turns = session();
    for (auto i = static_cast<size_t>(final.left_out->turns); i < turns.turns.size(); ++i) {
      const Chunk chunk = world_->chunk(turns.turns[i].output_id);
      if (chunk.id == final.output_chunk_id) break;
      request.messages.push_back({.role = "user", .content = chunk.query_text, .reasoning = {}});
      request.messages.push_back({.role = "assistant", .content = chunk.text, .reasoning = {}});
    }
    request.messages.push_back({.role = "user", .content = question, .reasoning = {}});
    if (final.summarised) request.messages[1].content.insert(0, text_of(final));
    request.sampling.temperature = 0;
    request.max_tokens = 4;
    request.reuse = false;
    return run(request);
  }
  void expect_as_cold(const wire::Final& final, const std::string& question) {
    const wire::Final same = cold(final, question);
    EXPECT_EQ(same.token_ids, final.token_ids);
    EXPECT_EQ(same.usage.prompt_tokens, final.usage.prompt_tokens);
  }
};

TEST_F(Summarize, summaries_are_written_before_turns_are_left_out_and_stand_in_for_them) {
  const wire::Final final = talk();
  ASSERT_TRUE(final.left_out.has_value());
  ASSERT_TRUE(final.summarised.has_value());
  EXPECT_EQ(final.summarised->turns, final.left_out->turns);
  for (const std::string& id : final.summarised->chunk_ids) {
    const Chunk chunk = world_->chunk(id);
    EXPECT_EQ(chunk.type, ChunkType::kSummary);
    EXPECT_FALSE(chunk.text.empty());
    EXPECT_FALSE(chunk.parent_ids.empty());
  }
  const wire::SessionReply shown = session();
  EXPECT_EQ(shown.session.summarised, final.summarised);
  EXPECT_EQ(world_->chunk(final.output_chunk_id).generation.summarised, final.summarised);
  const wire::Final next = say("Where does the river end?");
  EXPECT_EQ(next.summarised, final.summarised);
  EXPECT_GT(next.usage.reused_tokens, 300);
  expect_as_cold(next, "Where does the river end?");
}

TEST_F(Summarize, each_turn_is_summarised_once) {
  for (int i = 1; i <= 20; ++i) say(remark(i));
  std::vector<std::string> parents;
  for (const Chunk& chunk : summaries()) {
    parents.insert(parents.end(), chunk.parent_ids.begin(), chunk.parent_ids.end());
  }
  EXPECT_GT(parents.size(), 8u);
  std::ranges::sort(parents);
  EXPECT_EQ(std::ranges::adjacent_find(parents), parents.end());
}

TEST_F(Summarize, after_a_restart_the_summaries_still_stand_in) {
  const wire::Final before = talk();
  restart();
  EXPECT_EQ(session().session.summarised, before.summarised);
  const wire::Final after = say("Where does the river end?");
  EXPECT_EQ(after.summarised, before.summarised);
  EXPECT_GT(after.usage.reused_tokens, 300);
  expect_as_cold(after, "Where does the river end?");
}

TEST_F(Summarize, a_conversation_of_messages_finds_the_summaries_of_its_turns) {
  const wire::Final last = talk();
  wire::GenerateRequest request;
  request.messages = {{.role = "system", .content = kGeographer, .reasoning = {}}};
  for (const SessionTurn& turn : session().turns) {
    const Chunk chunk = world_->chunk(turn.output_id);
    request.messages.push_back({.role = "user", .content = chunk.query_text, .reasoning = {}});
    request.messages.push_back({.role = "assistant", .content = chunk.text, .reasoning = {}});
  }
  request.messages.push_back({.role = "user", .content = "Where?", .reasoning = {}});
  request.sampling.temperature = 0;
  request.max_tokens = 4;
  request.on_overflow = OnOverflow::kSummarize;
  const wire::Final final = run(request);
  ASSERT_TRUE(final.summarised.has_value());
  EXPECT_EQ(final.summarised->turns, final.left_out->turns);
  expect_as_cold(final, "Where?");
  request.on_overflow = OnOverflow::kDropOldest;
  EXPECT_FALSE(run(request).summarised.has_value());
}

TEST_F(Summarize, outputs_go_on_with_the_summaries_of_their_conversation) {
  const wire::Final before = talk();
  wire::GenerateRequest request = ask({query_text("Where does the river end?")});
  request.previous_output = before.output_chunk_id;
  request.max_tokens = 4;
  const wire::Final after = run(request);
  EXPECT_EQ(after.summarised, before.summarised);
  expect_as_cold(after, "Where does the river end?");
}

TEST_F(Summarize, a_summary_that_was_deleted_is_named_and_its_pages_are_forgotten) {
  const wire::Final before = talk();
  const std::string gone = before.summarised->chunk_ids.front();
  world_->send(wire::ChunkDelete{gone, "", true});
  const wire::Final after = say("Where does the river end?");
  ASSERT_EQ(after.missing.size(), 1u);
  EXPECT_EQ(after.missing[0].id, gone);
  EXPECT_LT(after.usage.reused_tokens, 100) << "the system prompt";
  ASSERT_TRUE(after.summarised.has_value());
  EXPECT_EQ(after.summarised->chunk_ids.size(), before.summarised->chunk_ids.size() - 1);
  EXPECT_LT(after.summarised->turns, after.left_out->turns);
  expect_as_cold(after, "Where does the river end?");
}

TEST_F(Summarize, summaries_are_deleted_with_their_session) {
  talk();
  ASSERT_FALSE(summaries().empty());
  world_->send(wire::SessionDelete{"trip", /*outputs=*/true});
  EXPECT_TRUE(summaries().empty());
}

TEST_F(Summarize, summaries_stay_if_the_outputs_of_their_session_do) {
  talk();
  const size_t count = summaries().size();
  world_->send(wire::SessionDelete{"trip", /*outputs=*/false});
  EXPECT_EQ(summaries().size(), count);
}

TEST_F(Summarize, clients_cannot_register_summaries_and_can_use_them_as_contexts) {
  const uint64_t put = world_->send(wire::ChunkPut{ChunkType::kSummary, "They met."});
  EXPECT_EQ(world_->one<wire::ErrorReply>(put).error.field, "type");
  talk();
  const Chunk summary = summaries().front();
  for (const ChunkType type : {ChunkType::kSummary, ChunkType::kContext}) {
    wire::GenerateRequest request = ask({{type, summary.id, ""}, query_text("What was said?")});
    request.max_tokens = 2;
    EXPECT_EQ(run(request).token_ids.size(), 2u);
  }
  wire::GenerateRequest by_text = ask({{ChunkType::kSummary, "", "They met."}, query_text("Who?")});
  EXPECT_EQ(world_->one<wire::ErrorReply>(world_->send(by_text)).error.field, "chunks[0].id");
}

TEST_F(Summarize, a_request_comes_before_a_summary_that_is_being_written) {
  wire::Final last;
  uint64_t posted = 0;
  // Posts each turn when half of the summary that the turn before it has begun may be written.
  for (int i = 1; i <= kTurnsToLeaveOut && !last.left_out; ++i) {
    wire::GenerateRequest request = turn(remark(i));
    request.session = "trip";
    posted = world_->post(std::move(request));
    while (world_->all<wire::Final>(posted).empty()) ASSERT_EQ(world_->pump(1), 1u);
    last = world_->one<wire::Final>(posted);
    world_->pump(12);
  }
  ASSERT_TRUE(last.left_out.has_value());
  world_->pump();
  ASSERT_FALSE(summaries().empty());
  for (const Chunk& chunk : summaries()) EXPECT_FALSE(chunk.text.empty());
}

}  // namespace
}  // namespace cascade
