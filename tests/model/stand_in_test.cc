// How a summary is asked for, and where it stands in a prompt.
#include "model/stand_in.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/conversation_testing.h"

namespace cascade::testing {
namespace {

TEST(StandIn, a_transcript_names_who_says_what) {
  Messages messages = {message("user", "Where?"), message("assistant", "Let me see."),
                       message("tool", "[1, 2]"), message("assistant", "There.")};
  messages[1].tool_calls = R"([{"name":"look"}])";
  EXPECT_EQ(transcript(messages),
            "User: Where?\n\nAssistant: Let me see. [{\"name\":\"look\"}]\n\nTool: [1, 2]\n\n"
            "Assistant: There.");
  EXPECT_EQ(transcript({}), "");
}

TEST(StandIn, thoughts_are_no_part_of_a_transcript) {
  Messages messages = {message("assistant", "Yes.")};
  messages[0].reasoning = "It may be no.";
  EXPECT_EQ(transcript(messages), "Assistant: Yes.");
}

TEST(StandIn, the_question_for_a_summary_says_how_many_words_there_may_be) {
  EXPECT_EQ(ask_for_summary("User: Hi.", "At most {words} words, yes, {words}.", 100),
            "User: Hi.\n\n---\n\nAt most 75 words, yes, 75.");
  EXPECT_EQ(ask_for_summary("a", "Shorten it.", 100), "a\n\n---\n\nShorten it.");
  EXPECT_EQ(ask_for_summary("a", "{words}", 1), "a\n\n---\n\n1") << "never none";
  EXPECT_NE(ask_for_summary("a", kSummaryPrompt, 100).find("at most 75 words"), std::string::npos);
}

TEST(StandIn, the_last_text_that_stands_in_for_no_more_than_is_left_out_is_taken) {
  const std::vector<StandIn> summaries = {{{}, "before"}, {{4, 0}, "four"}, {{9, 0}, "nine"}};
  EXPECT_EQ(stand_in_for(summaries, {})->text, "before");
  EXPECT_EQ(stand_in_for(summaries, {3, 7})->text, "before");
  EXPECT_EQ(stand_in_for(summaries, {4, 0})->text, "four");
  EXPECT_EQ(stand_in_for(summaries, {8, 2})->text, "four");
  EXPECT_EQ(stand_in_for(summaries, {20, 0})->text, "nine");
  EXPECT_EQ(stand_in_for(std::span(summaries).subspan(1), {3, 0}), nullptr);
  EXPECT_EQ(stand_in_for({}, {3, 0}), nullptr);
}

TEST(StandIn, it_stands_in_the_first_question_after_the_system_prompt) {
  Messages messages = {message("system", "Be brief."), message("user", "And then?"),
                       message("assistant", "Nothing.")};
  put_stand_in("They met.", messages);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].content, "Be brief.");
  EXPECT_EQ(messages[1].content,
            "Summary of this conversation so far:\n\nThey met.\n\nNow:\n\nAnd then?");
  EXPECT_EQ(messages[2].content, "Nothing.");
}

TEST(StandIn, before_an_answer_it_is_a_message_of_its_own) {
  Messages messages = {message("system", "Be brief."), message("assistant", "Nothing.")};
  put_stand_in("They met.", messages);
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[1].role, "user");
  EXPECT_EQ(messages[1].content, "Summary of this conversation so far:\n\nThey met.");
  Messages none;
  put_stand_in("They met.", none);
  EXPECT_EQ(none.size(), 1u);
}

}  // namespace
}  // namespace cascade::testing
