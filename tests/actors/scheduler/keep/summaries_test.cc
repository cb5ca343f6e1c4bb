// Which summaries are written, what becomes of them, and which are chosen.
#include "actors/scheduler/keep/summaries.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/summary_chain.h"
#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade::testing {
namespace {

class SummariesTest : public KeepTest {
 protected:
  // 10 turns of 100 bytes; a request whose room is that of 800 tokens.
  SummariesTest() {
    output_ = &output("output_newest", 2);
    output_->chunk.holders = {trip()};
    for (size_t i = 0; i < 10; ++i) {
      const std::string id = "output_" + std::to_string(i);
      output(id, 2);
      std::string question = "question " + std::to_string(i) + " ";
      question.resize(60, 'q');
      request_.messages.push_back({.role = "user", .content = question, .reasoning = {}});
      request_.messages.push_back(
          {.role = "assistant", .content = std::string(40, 'a'), .reasoning = {}});
      request_.answers.emplace_back(id, 2 * i + 1);
    }
    request_.client.tenant = "alice";
    request_.on_overflow = OnOverflow::kSummarize;
    request_.prompt_room = 800;
  }

  static Holder trip() {
    Holder holder;
    holder.kind = HolderKind::kSession;
    holder.label = "trip";
    return holder;
  }
  // The conversation, with so many tokens, was answered. Returns the text of the job that asks for
  // a summary; empty if there is none.
  std::string answered(int64_t tokens) {
    summaries_.answered(request_, output_->chunk, request_.messages, tokens, {trip()});
    return asked();
  }
  std::string asked() {
    std::string text;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* job = std::get_if<wire::EncodeJob>(&outgoing.envelope.message);
      if (job == nullptr) continue;
      EXPECT_EQ(job->mode, wire::EncodeJob::Mode::kPrompt);
      EXPECT_EQ(job->thinking, false);
      job_ = job->job;
      text += job->messages.at(0).content;
    }
    return text;
  }
  // The prefill actor has tokenized the latest job.
  void tokenized() {
    wire::EncodeDone done;
    done.job = job_;
    done.token_ids = {1, 2, 3};
    auto next = idle_.take_tokenized(job_);
    ASSERT_TRUE(next && next->draft);
    summaries_.tokenized(*std::move(next), std::move(done));
  }
  // The model writes this as the summary that is first in the queue.
  void written(const std::string& text, bool trusted = false) {
    ASSERT_TRUE(idle_.start());
    const wire::PrefillJob first = idle_.slice(2);
    EXPECT_FALSE(first.sample);
    idle_.ended(first.token_ids, SliceEnd::kComputed);
    std::vector<int32_t> tokens =
        *demo_model().tokenizer.encode(text, trusted, /*with_template=*/false);
    tokens.push_back(demo_model().generation.end_tokens.at(0));
    for (const int32_t token : tokens) {
      if (idle_.queue().empty()) return;  // there are enough tokens
      ASSERT_TRUE(idle_.start());
      const wire::PrefillJob job = idle_.slice(1000);
      ASSERT_TRUE(job.sample) << "each slice samples a token";
      EXPECT_EQ(job.token_ids.size(), 1u);
      idle_.ended(job.token_ids, SliceEnd::kComputed, token);
    }
  }
  // A summary of the turns [begin, end), which exists.
  std::string exists(size_t begin, size_t end, size_t tokens = 10) {
    const std::vector<size_t> begins = turn_begins(request_.messages);
    Chunk chunk;
    chunk.id = "chunk_" + std::to_string(begin) + "_" + std::to_string(end);
    chunk.type = ChunkType::kSummary;
    chunk.tenant = "alice";
    chunk.content_hash =
        hash_of_turns(request_.messages, std::span(begins).subspan(begin, end - begin + 1));
    chunk.text = "turns " + std::to_string(begin) + " to " + std::to_string(end);
    chunk.token_ids.resize(tokens);
    chunk.generation.summarised = Summarised{static_cast<int64_t>(end - begin), {}};
    EXPECT_TRUE(registry_.add(chunk).ok());
    return chunk.id;
  }
  std::vector<Chunk> all() {
    std::vector<Chunk> chunks;
    for (ChunkEntry* entry : registry_.all()) {
      if (entry->chunk.type == ChunkType::kSummary) chunks.push_back(entry->chunk);
    }
    return chunks;
  }
  std::string cuts(const LeftOut& planned = {}) {
    std::string text;
    summaries_.choose(request_, planned);
    for (const SummaryChoice& choice : request_.summaries) {
      text += std::to_string(choice.text.cut.turns) + ":" +
              std::to_string(choice.summarised.chunk_ids.size()) + " ";
    }
    return text;
  }

  Summaries& summaries_ = keep_.summaries;
  ChunkEntry* output_ = nullptr;
  Request request_;
  uint64_t job_ = 0;
};

TEST_F(SummariesTest, the_oldest_turns_are_summarised_once_the_conversation_has_half_of_its_room) {
  EXPECT_EQ(answered(399), "");
  const std::string text = answered(400);
  EXPECT_NE(text.find("User: question 0 q"), std::string::npos);
  EXPECT_NE(text.find("User: question 2 q"), std::string::npos) << "64 tokens are some 256 bytes";
  EXPECT_EQ(text.find("User: question 3 q"), std::string::npos);
  EXPECT_NE(text.find("at most 12 words"), std::string::npos)
      << "16 tokens are the least: " << text;
}

TEST_F(SummariesTest, only_conversations_that_ask_for_them_have_summaries) {
  request_.on_overflow = OnOverflow::kRetrieve;
  EXPECT_EQ(answered(700), "");
}

TEST_F(SummariesTest, a_summary_is_a_chunk_with_its_outputs_as_parents) {
  answered(400);
  tokenized();
  written("They spoke of four questions.");
  ASSERT_EQ(all().size(), 1u);
  const Chunk summary = all().front();
  EXPECT_EQ(summary.text, "They spoke of four questions.");
  EXPECT_EQ(summary.parent_ids, (std::vector<std::string>{"output_0", "output_1", "output_2"}));
  EXPECT_EQ(summary.tenant, "alice");
  EXPECT_EQ(summary.generation.finish_reason, "stop");
  EXPECT_EQ(summary.generation.summarised, (Summarised{3, {}}));
  ASSERT_EQ(summary.holders.size(), 1u);
  EXPECT_EQ(summary.holders[0].label, "trip");
  EXPECT_EQ(*demo_model().tokenizer.encode(summary.text, false, false), summary.token_ids);
  EXPECT_TRUE(idle_.queue().empty());
  EXPECT_TRUE(memory_.index.match(tenants_.id("alice", {}), Tokens{1, 2, 3}).tokens() == 0)
      << "nobody asks the same again";
}

TEST_F(SummariesTest, a_session_that_was_deleted_holds_no_summary) {
  answered(400);
  tokenized();
  output_->chunk.holders.front() = {};
  written("They spoke.");
  ASSERT_EQ(all().size(), 1u);
  ASSERT_EQ(all()[0].holders.size(), 1u);
  EXPECT_EQ(all()[0].holders[0].kind, HolderKind::kRetention);
}

TEST_F(SummariesTest, the_next_block_follows_until_a_quarter_of_the_room_is_left) {
  answered(499);
  tokenized();
  written("The first.");
  EXPECT_EQ(asked(), "") << "four turns would stay, with 199 tokens";
  std::string text = answered(500);
  EXPECT_NE(text.find("User: question 3 q"), std::string::npos) << text;
  EXPECT_EQ(text.find("User: question 2 q"), std::string::npos) << "no turn is summarised twice";
  EXPECT_EQ(text.find("User: question 6 q"), std::string::npos);
  tokenized();
  written("The second.");
  EXPECT_EQ(asked(), "");
  EXPECT_EQ(all().size(), 2u);
}

TEST_F(SummariesTest, a_summary_is_asked_for_once) {
  answered(400);
  EXPECT_EQ(answered(440), "") << "it is being tokenized";
  tokenized();
  EXPECT_EQ(answered(1000), "") << "it waits";
  written("The first.");
  EXPECT_NE(asked().find("question 3"), std::string::npos) << "the conversation has grown";
}

TEST_F(SummariesTest, what_the_model_could_not_write_is_not_asked_for_again) {
  answered(400);
  tokenized();
  written("  \n ");
  EXPECT_TRUE(all().empty());
  const std::string text = asked() + answered(440);
  EXPECT_NE(text.find("User: question 0 q"), std::string::npos);
  EXPECT_NE(text.find("User: question 3 q"), std::string::npos) << "but with one turn more";
}

TEST_F(SummariesTest, thoughts_before_a_summary_do_not_count) {
  answered(400);
  tokenized();
  const auto think = demo_model().tokenizer.think_tokens();
  ASSERT_TRUE(think.has_value());
  written("<think>" + std::string(300, 'x') + "</think>They spoke.", /*trusted=*/true);
  ASSERT_EQ(all().size(), 1u);
  EXPECT_EQ(all()[0].text, "They spoke.");
}

TEST_F(SummariesTest, a_summary_that_is_not_kept_is_not_written_again_and_again) {
  Holder brief = trip();
  brief.expires_us = 1;  // over already
  summaries_.answered(request_, output_->chunk, request_.messages, 800, {brief});
  EXPECT_NE(asked(), "");
  tokenized();
  clock_.advance_us(1'000'000);
  registry_.set_time(clock_.wall_us());
  written("They spoke.");
  EXPECT_EQ(asked(), "");
}

TEST_F(SummariesTest, the_time_of_a_summary_begins_when_it_is_written) {
  Holder brief = trip();
  brief.expires_us = clock_.wall_us() + 100;
  summaries_.answered(request_, output_->chunk, request_.messages, 400, {brief});
  EXPECT_NE(asked(), "");
  tokenized();
  clock_.advance_us(1'000'000);
  written("They spoke.");
  ASSERT_EQ(all().size(), 1u);
  EXPECT_EQ(all()[0].holders[0].expires_us, clock_.wall_us() + 100);
}

TEST_F(SummariesTest, turns_that_are_being_summarised_are_part_of_no_other_summary) {
  answered(400);
  request_.prompt_room = 1600;  // blocks are twice as long
  EXPECT_EQ(answered(4000), "");
  tokenized();
  written("The first.");
  EXPECT_NE(asked().find("User: question 3 q"), std::string::npos) << "they follow";
}

TEST_F(SummariesTest, a_session_holds_the_summaries_that_another_one_led_to) {
  const std::string id = exists(0, 2);
  request_.summarised = Summarised{2, {id}};
  answered(100);
  const std::vector<Holder> holders = (*registry_.find("alice", id))->chunk.holders;
  ASSERT_EQ(holders.size(), 2u);
  EXPECT_EQ(holders[1].label, "trip");
  answered(100);
  EXPECT_EQ((*registry_.find("alice", id))->chunk.holders.size(), 2u);
}

TEST_F(SummariesTest, a_summary_that_ends_for_lack_of_tokens_has_whole_sentences) {
  answered(400);
  tokenized();
  written(
      "One two three four five. Six seven. Five six seven eight nine ten eleven twelve thirteen "
      "fourteen "
      "fifteen sixteen seventeen eighteen nineteen twenty.");
  ASSERT_EQ(all().size(), 1u);
  EXPECT_EQ(all()[0].generation.finish_reason, "length");
  EXPECT_LE(all()[0].token_ids.size(), 21u);
  EXPECT_TRUE(all()[0].text.ends_with(".")) << all()[0].text;
}

TEST_F(SummariesTest, nothing_of_a_deleted_output_becomes_a_summary) {
  answered(400);
  tokenized();
  removals_.remove(**registry_.find_own("alice", "output_1"), Removal::kDeleted);
  written("They spoke.");
  EXPECT_TRUE(all().empty());
  EXPECT_EQ(asked(), "");
}

TEST_F(SummariesTest, a_summary_ends_with_the_output_that_it_was_asked_for_after) {
  answered(400);
  tokenized();
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob job = idle_.slice(2);
  removals_.remove(*output_, Removal::kDeleted);
  idle_.ended(job.token_ids, SliceEnd::kComputed);
  EXPECT_TRUE(idle_.queue().empty());
  EXPECT_TRUE(all().empty());
}

TEST_F(SummariesTest, a_job_that_fails_writes_nothing) {
  answered(400);
  auto next = idle_.take_tokenized(job_);
  ASSERT_TRUE(next.has_value());
  wire::EncodeDone failed;
  failed.error = Error{ErrorCode::kUnsupported, "chat_template", "there is none"};
  summaries_.tokenized(*std::move(next), std::move(failed));
  EXPECT_TRUE(idle_.queue().empty());
  EXPECT_NE(answered(440).find("question 3"), std::string::npos) << "another block may do";
}

TEST_F(SummariesTest, long_lists_of_summaries_are_summarised_first) {
  exists(0, 3, 100);
  exists(3, 5, 90);
  const std::string text = answered(2000);
  EXPECT_EQ(text.find("User: "), std::string::npos);
  EXPECT_NE(text.find("turns 0 to 3\n\nturns 3 to 5"), std::string::npos) << text;
  tokenized();
  written("Turns 0 to 5.");
  ASSERT_EQ(all().size(), 3u);
  EXPECT_EQ(all().back().parent_ids, (std::vector<std::string>{"chunk_0_3", "chunk_3_5"}));
  EXPECT_NE(asked().find("User: question 5 q"), std::string::npos) << "then come the next turns";
}

TEST_F(SummariesTest, a_choice_frees_half_of_the_room_or_ends_with_the_last_summary) {
  EXPECT_EQ(cuts(), "");
  request_.prompt_room = 200;  // half of it are some 400 bytes
  exists(0, 2);
  EXPECT_EQ(cuts(), "2:1 ");
  exists(2, 3);
  EXPECT_EQ(cuts(), "3:2 ");
  exists(3, 5);
  EXPECT_EQ(cuts(), "5:3 ") << "500 bytes";
  exists(5, 7);
  EXPECT_EQ(cuts(), "5:3 7:4 ");
  EXPECT_EQ(cuts({3, 0}), "3:2 5:3 7:4 ") << "what was planned stays a choice";
  exists(7, 10);
  EXPECT_EQ(cuts(), "5:3 7:4 ") << "the newest turn is never left out";
  EXPECT_EQ(request_.summaries[1].text.text,
            "turns 0 to 2\n\nturns 2 to 3\n\nturns 3 to 5\n\nturns 5 to 7");
  EXPECT_EQ(request_.summaries[1].summarised.turns, 7);
}

TEST_F(SummariesTest, what_stood_in_before_stays) {
  const std::string before = exists(0, 2);
  request_.messages.erase(request_.messages.begin(), request_.messages.begin() + 4);
  request_.summarised = Summarised{2, {before, "chunk_gone"}};
  EXPECT_EQ(cuts(), "0:1 ");
  ASSERT_EQ(request_.missing.size(), 1u);
  EXPECT_EQ(request_.missing[0].id, "chunk_gone");
  exists(0, 3);  // of what stays now
  EXPECT_EQ(cuts(), "0:1 3:2 ");
  EXPECT_EQ(request_.summaries[0].summarised.turns, 2);
  EXPECT_EQ(request_.summaries[1].summarised.turns, 5);
  EXPECT_EQ(request_.missing.size(), 1u) << "it is named once";
  request_.on_overflow = OnOverflow::kError;
  EXPECT_EQ(cuts(), "0:1 ") << "no more is left out";
}

TEST_F(SummariesTest, a_cut_that_comes_before_the_tokenizer_is_moved_to_the_end_of_a_summary) {
  const std::string first = exists(0, 2), second = exists(2, 5);
  EXPECT_EQ(summaries_.cut_at_summary({}, request_), LeftOut());
  EXPECT_EQ(summaries_.cut_at_summary({3, 0}, request_), (LeftOut{5, 0}));
  EXPECT_EQ(request_.summarised, (Summarised{5, {first, second}}));
  request_.summarised = {};
  EXPECT_EQ(summaries_.cut_at_summary({2, 0}, request_), (LeftOut{2, 0}));
  EXPECT_EQ(request_.summarised, (Summarised{2, {first}}));
  request_.summarised = {};
  EXPECT_EQ(summaries_.cut_at_summary({7, 1}, request_), (LeftOut{7, 1})) << "no summary is longer";
  EXPECT_EQ(request_.summarised, (Summarised{5, {first, second}}));
  request_.summarised = {};
  request_.on_overflow = OnOverflow::kDropOldest;
  EXPECT_EQ(summaries_.cut_at_summary({3, 0}, request_), (LeftOut{3, 0}));
  EXPECT_FALSE(request_.summarised.has_value());
}

}  // namespace
}  // namespace cascade::testing
