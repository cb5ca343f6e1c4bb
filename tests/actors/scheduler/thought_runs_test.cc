// Which tokens of a history were computed with thoughts that it leaves out.
#include "actors/scheduler/thought_runs.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

using Ids = std::vector<int32_t>;
constexpr int32_t kOpen = 1, kClose = 2, kBreak = 3;

// A prompt of ten tokens, a thought of four with its marks, a line break, and `answer`.
struct Thought {
  Ids tokens = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19, kOpen, 50, 51, kClose, kBreak};
  std::vector<ThinkSpan> spans = {{0, 4, true}};

  explicit Thought(const Ids& answer) { tokens.insert(tokens.end(), answer.begin(), answer.end()); }
  std::vector<TokenRun> runs(const Ids& history) const {
    return runs_after_thoughts({tokens, 10, spans, kClose}, history);
  }
};

Ids prompt_and(const Ids& rest) {
  Ids ids = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  ids.insert(ids.end(), rest.begin(), rest.end());
  return ids;
}

TEST(ThoughtRuns, the_answer_follows_the_thought) {
  const Thought sampled({60, 61, 62, 63, 64});
  EXPECT_EQ(sampled.runs(prompt_and({60, 61, 62, 63, 64, kBreak})),
            (std::vector<TokenRun>{{10, 15, 15}}));
  EXPECT_EQ(sampled.runs(prompt_and({kBreak, 60, 61, 62, 63, 64})),
            (std::vector<TokenRun>{{10, 16, 14}}));
}

TEST(ThoughtRuns, short_answers_count_if_they_are_all_that_is_left) {
  EXPECT_EQ(Thought({60, 61}).runs(prompt_and({60, 61})), (std::vector<TokenRun>{{10, 12, 15}}));
  EXPECT_TRUE(Thought({60, 61}).runs(prompt_and({60, 61, 70, 71, 72})).empty())
      << "too little to be sure";
}

TEST(ThoughtRuns, a_draft_within_the_thought_is_not_the_answer) {
  Thought sampled({50, 51, 62, 63});
  EXPECT_EQ(sampled.runs(prompt_and({50, 51, 62, 63})), (std::vector<TokenRun>{{10, 14, 15}}));
}

TEST(ThoughtRuns, there_are_none_if_no_thought_was_left_out) {
  const Thought sampled({60, 61, 62, 63, 64});
  EXPECT_TRUE(sampled.runs(sampled.tokens).empty());
  Ids longer = sampled.tokens;
  longer.push_back(kBreak);
  EXPECT_TRUE(sampled.runs(longer).empty());
}

TEST(ThoughtRuns, there_are_none_if_the_answer_is_another) {
  EXPECT_TRUE(Thought({60, 61, 62, 63, 64}).runs(prompt_and({70, 71, 72, 73, 74})).empty());
  Thought open({60, 61, 62, 63, 64});
  open.spans = {{0, 9, false}};
  EXPECT_TRUE(open.runs(prompt_and({60, 61, 62, 63, 64})).empty()) << "the thought has no end";
}

TEST(ThoughtRuns, an_empty_thought_at_the_end_of_the_prompt_counts) {
  const Ids sampled = {10, 11, 12, kOpen, kBreak, kClose, kBreak, 60, 61, 62, 63};
  EXPECT_EQ(runs_after_thoughts({sampled, 7, {}, kClose}, Ids{10, 11, 12, 60, 61, 62, 63}),
            (std::vector<TokenRun>{{3, 7, 7}}));
}

TEST(ThoughtRuns, a_loop_of_tools_has_one_after_each_thought) {
  Ids sampled = {10, kOpen, 50, kClose, 20, 21, 22, 23, 30, 31, kOpen, 51, kClose};
  const Ids answer = {60, 61, 62, 63, 64};
  sampled.insert(sampled.end(), {kOpen, 52, kClose});
  sampled.insert(sampled.end(), answer.begin(), answer.end());
  const Ids history = {10, 20, 21, 22, 23, 30, 31, 60, 61, 62, 63, 64};
  EXPECT_EQ(
      runs_after_thoughts({sampled, 13, std::vector<ThinkSpan>{{0, 3, true}}, kClose}, history),
      (std::vector<TokenRun>{{1, 7, 4}, {7, 12, 16}}));
}

}  // namespace
}  // namespace cascade
