// A few words around the words that were searched for.
#include "persist/snippet.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"

namespace cascade {
namespace {

TEST(Snippet, of_a_short_text_is_all_of_it) {
  EXPECT_EQ(snippet_of("", "word"), "");
  EXPECT_EQ(snippet_of("The capital, of France?", "capital"), "The capital, of France?");
  EXPECT_EQ(snippet_of("The capital of France?", "nothing"), "The capital of France?");
}

TEST(Snippet, has_some_words_before_what_was_found_and_more_behind) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "w" + std::to_string(i) + " ";
  EXPECT_EQ(snippet_of(text, "w50"), "…w46 w47 w48 w49 w50 w51 w52 w53 w54 w55 w56 w57…");
  EXPECT_EQ(snippet_of(text, "w2 w50"), "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11…");
  EXPECT_EQ(snippet_of(text, "w98"), "…w94 w95 w96 w97 w98 w99 ");
  EXPECT_EQ(snippet_of(text, "none"), "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11…");
}

TEST(Snippet, finds_words_whatever_their_case_and_accents) {
  const std::string before = "one two three four five six ";
  EXPECT_EQ(snippet_of(before + "CAFÉ x", "cafe").find("…three"), 0u);
  EXPECT_EQ(snippet_of(before + "cafe x", "\"Café\"").find("…three"), 0u);
  EXPECT_EQ(snippet_of(before + "cafeteria x", "cafe").find("one"), 0u);
  EXPECT_EQ(snippet_of(before + "\u65E5\u672C x", "\u65E5\u672C").find("…three"), 0u);
}

TEST(Snippet, of_any_bytes_is_bounded_and_linear) {
  const std::string one_word(1 << 20, 'x');
  EXPECT_LT(snippet_of(one_word, "x").size(), 500u);
  std::string repeated;
  while (repeated.size() < (1 << 20)) repeated += "word ";
  EXPECT_EQ(snippet_of(repeated, "word").find("word word"), 0u);
  EXPECT_EQ(snippet_of(repeated, "other").find("word word"), 0u);
  std::string kanji;
  while (kanji.size() < 10'000) kanji += "\u65E5";
  EXPECT_TRUE(is_utf8(snippet_of(kanji, "x")));
  EXPECT_FALSE(snippet_of(std::string("\xFF\xC3 a \x80", 6), "a").empty());
}

}  // namespace
}  // namespace cascade
