// The passages with the words of a question come first, and then those that these lead to.
#include "model/passage_ranking.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

std::string text_of(const Passage& passage, const std::vector<EarlierTurn>& turns) {
  const EarlierTurn& turn = turns[passage.turn];
  return (passage.is_answer ? turn.answer : turn.question)
      .substr(passage.begin, passage.end - passage.begin);
}

std::vector<std::string> ranked(std::string_view query, const std::vector<EarlierTurn>& turns) {
  std::vector<std::string> texts;
  for (const Passage& passage : rank_passages(query, turns)) {
    texts.push_back(text_of(passage, turns));
  }
  return texts;
}

// A turn of one sentence.
EarlierTurn said(const std::string& question) {
  return {.chunk_id = {}, .question = question, .answer = {}};
}

TEST(PassageRanking, rare_words_count_more_than_frequent_ones) {
  const auto found =
      ranked("What is the code of the red box?",
             {said("The code of the red hat is 1."), said("The weather is fine."),
              said("The code of the red box is 2."), said("The code of the blue hat is 3.")});
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], "The code of the red box is 2.");
}

TEST(PassageRanking, what_has_no_word_of_the_question_is_not_found) {
  EXPECT_TRUE(rank_passages("zebra", std::vector{said("The weather is fine.")}).empty());
  EXPECT_TRUE(rank_passages("", std::vector{said("The weather is fine.")}).empty());
  EXPECT_TRUE(rank_passages("weather", {}).empty());
  EXPECT_TRUE(rank_passages("weather", std::vector{said("")}).empty());
}

TEST(PassageRanking, words_with_other_endings_and_accents_are_found) {
  const std::vector<EarlierTurn> turns = {said("Nobody came."), said("Ana visited Perú."),
                                          said("The rain fell.")};
  EXPECT_EQ(ranked("Did she visit it?", turns).front(), "Ana visited Perú.");
  EXPECT_EQ(ranked("PERU", turns), std::vector<std::string>{"Ana visited Perú."});
}

TEST(PassageRanking, a_passage_has_the_sentences_beside_the_one_that_was_found) {
  const std::vector<EarlierTurn> turns = {
      {.chunk_id = {}, .question = "Hello.", .answer = "One. Two. The hotel is old. Four. Five."}};
  const std::vector<Passage> found = rank_passages("hotel", turns);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].is_answer);
  EXPECT_EQ(text_of(found[0], turns), " Two. The hotel is old. Four.");
  EXPECT_EQ(turns[0].answer.substr(found[0].sentence_begin,
                                   found[0].sentence_end - found[0].sentence_begin),
            " The hotel is old.");
}

TEST(PassageRanking, what_was_found_leads_to_what_it_names) {
  std::vector<EarlierTurn> turns = {said("The code of the green coat is 1234.")};
  for (const char* thing : {"door", "bag", "car", "house", "lamp", "chair", "ring", "clock"}) {
    turns.push_back(said("The code of the blue " + std::string(thing) + " is 5678."));
  }
  turns.push_back(said("Ana uses the green coat."));
  const auto found = ranked("What is the code of the thing that Ana uses?", turns);
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[0], "Ana uses the green coat.");
  EXPECT_EQ(found[1], "The code of the green coat is 1234.");
}

TEST(PassageRanking, texts_without_spaces_are_compared_by_pairs_of_characters) {
  const std::vector<EarlierTurn> turns = {said("我喜欢苹果。天气很好。"),
                                          said("昨天我去了图书馆。"), said("没有人来。")};
  EXPECT_EQ(ranked("图书馆在哪里？", turns).front(), "昨天我去了图书馆。");
  const std::vector<EarlierTurn> mixed = {said("2024年我去了北京。"), said("没有人来。")};
  EXPECT_EQ(ranked("什么时候去北京？", mixed).front(), "2024年我去了北京。");
  EXPECT_EQ(ranked("2024", mixed).front(), "2024年我去了北京。");
}

TEST(PassageRanking, takes_time_in_proportion_to_a_text_without_spaces) {
  // A search for a space from each part back to the beginning would take minutes.
  const std::vector<EarlierTurn> turns = {said("start " + std::string(size_t{2} << 20, '-'))};
  EXPECT_EQ(rank_passages("start", turns).size(), 1u);
}

TEST(PassageRanking, long_texts_without_sentences_are_cut_at_words_and_characters) {
  std::string list, letters;
  for (int i = 0; i < 200; ++i) list += "item" + std::to_string(i) + " ";
  for (int i = 0; i < 300; ++i) letters += "é";
  const std::vector<EarlierTurn> turns = {said(list), said(letters)};
  const auto found = ranked("item150", turns);
  ASSERT_FALSE(found.empty());
  EXPECT_LT(found[0].size(), 800u);
  EXPECT_NE(found[0].find(" item150 "), std::string::npos);
  for (const Passage& passage : rank_passages("ééé", turns)) {
    EXPECT_EQ(text_of(passage, turns).size() % 2, 0u) << "no character is cut";
  }
}

TEST(PassageRanking, of_equal_passages_the_newest_comes_first) {
  const std::vector<EarlierTurn> turns = {said("My dog is Rex."), said("My dog is Rex.")};
  const std::vector<Passage> found = rank_passages("dog", turns);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].turn, 1u);
}

TEST(PassageRanking, any_bytes_are_text) {
  const std::vector<EarlierTurn> turns = {said(std::string("\xFF\xFE word \0 x", 11)),
                                          said("\x82.\n\n\n"), said("\xE3\x80\x82")};
  EXPECT_FALSE(rank_passages("word \xC3", turns).empty());
  EXPECT_TRUE(rank_passages("\xFF", turns).empty());
}

}  // namespace
}  // namespace cascade
