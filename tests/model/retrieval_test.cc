// The text that is brought back has a bounded length, and the order of the conversation.
#include "model/retrieval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/model/conversation_testing.h"

namespace cascade::testing {
namespace {

const TextModel& demo_text() {
  static const TextModel model = demo_text_model();
  return model;
}

RetrievedText retrieved(const Messages& messages, const std::vector<EarlierTurn>& turns,
                        int64_t tokens_max) {
  const auto found = retrieve(demo_text().context({}).tokenizer, messages, turns, tokens_max);
  EXPECT_TRUE(found.ok()) << found.error().to_string();
  return found.ok() ? *found : RetrievedText();
}

int64_t tokens(const std::string& text) {
  return std::ssize(*demo_text().context({}).tokenizer.encode(text, false, false));
}

std::vector<EarlierTurn> towns(int count) {
  std::vector<EarlierTurn> turns;
  for (int i = 0; i < count; ++i) {
    const std::string number = std::to_string(i);
    turns.push_back({"output_" + number, "I was in town " + number + ". It rained.",
                     "Town " + number + " has a bridge. You know that."});
  }
  return turns;
}

TEST(Retrieval, the_text_names_who_said_what_in_the_order_of_the_turns) {
  const RetrievedText found =
      retrieved({message("user", "Which towns have a bridge? Where was I?")}, towns(2), 1000);
  EXPECT_EQ(found.text,
            "Earlier in this conversation:\n\n"
            "User: I was in town 0. It rained.\nAssistant: Town 0 has a bridge. You know that.\n\n"
            "User: I was in town 1. It rained.\nAssistant: Town 1 has a bridge. You know that.\n\n"
            "Now:\n\n");
  ASSERT_EQ(found.from.size(), 2u);
  EXPECT_EQ(found.from[0].chunk_id, "output_0");
  EXPECT_EQ(found.from[1].chunk_id, "output_1");
  EXPECT_GT(found.from[0].tokens, 10);
}

TEST(Retrieval, has_at_most_so_many_tokens_and_takes_the_best) {
  const Messages question = {message("user", "What does town 17 have?")};
  int64_t before = 0;
  for (const int64_t most : {0, 20, 60, 200, 600}) {
    const RetrievedText found = retrieved(question, towns(60), most);
    EXPECT_LE(tokens(found.text), most);
    EXPECT_GE(tokens(found.text), before) << "more room is used";
    before = tokens(found.text);
    EXPECT_EQ(found.text.empty(), found.from.empty());
    if (most < 60) continue;
    EXPECT_TRUE(std::ranges::any_of(
        found.from, [](const Retrieved& part) { return part.chunk_id == "output_17"; }));
  }
  EXPECT_GT(before, 400);
}

TEST(Retrieval, parts_between_which_something_is_missing_are_marked) {
  std::string answer = "The dog is Rex.";
  for (int i = 0; i < 5; ++i) answer += " Nothing happened then.";
  answer += " The dog sleeps.";
  const RetrievedText found = retrieved({message("user", "dog")}, {{"", "", answer}}, 1000);
  EXPECT_NE(found.text.find("Assistant: The dog is Rex. Nothing happened then. … Nothing happened "
                            "then. The dog sleeps.\n"),
            std::string::npos)
      << found.text;
}

TEST(Retrieval, text_of_many_tokens_keeps_out_nothing_that_has_room) {
  std::string dense;
  for (int i = 0; i < 300; ++i) dense += "{x" + std::to_string(7919 * i % 1009) + "}";
  const std::vector<EarlierTurn> turns = {
      {"fact", "The red box: 4711.", "Yes."},
      {"long", dense + ". What is the code of the red box? " + dense, dense}};
  for (const int64_t most : {60, 400}) {
    const RetrievedText found =
        retrieved({message("user", "What is the code of the red box?")}, turns, most);
    EXPECT_NE(found.text.find("The red box: 4711."), std::string::npos) << most;
    EXPECT_LE(tokens(found.text), most);
  }
}

TEST(Retrieval, of_a_text_without_sentences_the_part_with_the_words_comes_back) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "item" + std::to_string(i) + (i == 100 ? " dodo " : " ");
  const RetrievedText found = retrieved({message("user", "dodo")}, {{"", text, ""}}, 60);
  EXPECT_NE(found.text.find("dodo"), std::string::npos);
}

TEST(Retrieval, brings_back_nothing_if_nothing_is_found_or_nobody_asks) {
  EXPECT_TRUE(retrieved({message("user", "zebra")}, towns(3), 1000).text.empty());
  EXPECT_TRUE(retrieved({message("user", "town")}, {}, 1000).text.empty());
  EXPECT_TRUE(retrieved({message("system", "town")}, towns(3), 1000).text.empty());
}

TEST(Retrieval, stands_before_the_newest_question_also_of_a_turn_with_tools) {
  Messages messages = {message("system", "Be brief."), message("user", "old"),
                       message("assistant", "yes"),    message("user", "Which town?"),
                       message("assistant", "calls"),  message("tool", "result")};
  const Messages before = messages;
  const RetrievedText found = retrieved(messages, towns(1), 1000);
  put_before_question(found, messages);
  EXPECT_EQ(messages[3].content, found.text + "Which town?");
  messages[3].content = before[3].content;
  EXPECT_EQ(messages, before) << "the others stay as they are";
}

}  // namespace
}  // namespace cascade::testing
