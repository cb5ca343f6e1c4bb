// Patterns, compared with the standard library's on random texts.
#include "model/grammar/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;

size_t plenty = SIZE_MAX;

std::string problem(std::string_view pattern) {
  const auto dfa = compile_pattern(pattern, plenty);
  return dfa.ok() ? "" : dfa.error().message;
}

bool finds(std::string_view pattern, std::string_view text) {
  const auto dfa = compile_pattern(pattern, plenty);
  EXPECT_TRUE(dfa.ok()) << pattern << ": " << problem(pattern);
  return dfa.ok() && dfa->accepts(to_code_points(text));
}

TEST(Pattern, finds_what_the_standard_library_finds) {
  Random random(testing::test_seed());
  const char* patterns[] = {"^(a|b)*c$",
                            "a.c",
                            "^[^a-c]+$",
                            "b+?c",
                            "^(?:ab|a)(c|)$",
                            "^a{2,3}b{0,2}$",
                            "x|^b|c$",
                            "^\\w+\\s?\\d*$",
                            "[-a]",
                            "^[-\\d]{2}",
                            "(a(b(c)?)?)$",
                            "^\\x61\\u0062",
                            "^$",
                            "",
                            "^a|b$",
                            "^[a\\]\\\\]*$",

                            "^(ab?){2}$",
                            "^\\S\\D\\W$",
                            "(?<n>a)c",
                            "(^a|b)c",
                            "a(b$|c)",
                            "a^b",
                            "a$b",
                            "^(?=.*b)(?=.*1)[ab1]*$",
                            "^(?!ab)[abc]*$",
                            "^(?:(?!ba).)*$",
                            "(?=ab)a",
                            "a(?!b)",
                            "^(?!.*(?:a(?!b)))[abc1]*$",
                            "^(a(?=b|c)|b|c)*$",
                            "^(?!^[-c]*$)[-c1]+$",
                            "^(?:a(?=(b))|c(?!b))+b?$",
                            "\\bb",
                            "a\\b",
                            "^\\w*\\b.\\b\\w*$",
                            "\\Ba\\B",
                            "^(?=\\w\\b).*c$",
                            "(a|ab)(?=c)",
                            "^.{0,2}b.{0,1}$",
                            "^(a{0,2}b?){0,2}$",
                            "(?!$)(?!a)."};
  size_t found = 0;
  for (const char* pattern : patterns) {
    // The library does not know named groups.
    const std::string plain = std::regex_replace(std::string(pattern), std::regex("\\?<n>"), "");
    const std::regex reference(plain, std::regex::ECMAScript);
    for (int i = 0; i < 300; ++i) {
      std::string text;
      for (uint64_t n = random.below(6); n > 0; --n) text += "aabbcc-]\\ 1x{,2}"[random.below(16)];
      const bool expected = std::regex_search(text, reference);
      EXPECT_EQ(finds(pattern, text), expected) << pattern << " in " << text;
      found += expected ? 1 : 0;
    }
  }
  EXPECT_GT(found, 500u);
}

TEST(Pattern, braces_that_are_no_repetition_are_characters) {
  EXPECT_TRUE(finds("^a{,2}$", "a{,2}"));
  EXPECT_FALSE(finds("^a{,2}$", "aa"));
  EXPECT_TRUE(finds("^}]{$", "}]{"));
}

TEST(Pattern, sees_code_points_and_not_bytes) {
  EXPECT_TRUE(finds("^.$", "\xF0\x9F\x98\x80"));
  EXPECT_TRUE(finds("^[\xC3\xA0-\xC3\xBF]{2}$", "\xC3\xA9\xC3\xBC"));
  EXPECT_TRUE(finds("^\\uD83D\\uDE00$", "\xF0\x9F\x98\x80"));
  EXPECT_FALSE(finds("^.$", "\n"));
  EXPECT_FALSE(finds("^.$", "\xE2\x80\xA8"));
  EXPECT_TRUE(finds("^\\s$", "\xC2\xA0"));
  EXPECT_FALSE(finds("^\\d$", "\xD9\xA1"));  // an Arabic digit
}

TEST(Pattern, knows_the_properties_of_characters) {
  EXPECT_TRUE(finds("^\\p{L}+$", "z\xC3\xBCrich"));
  EXPECT_FALSE(finds("^\\p{L}+$", "a1"));
  EXPECT_TRUE(finds("^\\p{Lu}\\p{Lowercase_Letter}\\P{Letter}$", "\xC3\x84\xC3\xA4!"));
  EXPECT_TRUE(finds("^[\\p{Script=Greek}\\d]+$", "\xCE\xB1\x31"));
  EXPECT_FALSE(finds("^[^\\p{sc=Greek}]$", "\xCE\xB1"));
  EXPECT_TRUE(finds("^[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$", "\xF0\x9F\x98\x80"));
  EXPECT_TRUE(finds("^\\u{1F600}\\u{61}$",
                    "\xF0\x9F\x98\x80"
                    "a"));
}

// Trigrams are pictographs in some versions of Unicode.
TEST(Pattern, takes_characters_only_where_all_versions_of_unicode_agree) {
  const char* const trigram = "\xE2\x98\xB4";
  EXPECT_FALSE(finds("^\\p{Extended_Pictographic}$", trigram));
  EXPECT_FALSE(finds("^\\P{Extended_Pictographic}$", trigram));
  EXPECT_FALSE(finds("^[^\\p{Extended_Pictographic}]$", trigram));
  EXPECT_FALSE(finds("^(?!\\p{Extended_Pictographic}).$", trigram));
  EXPECT_TRUE(finds("^(?!\\p{Extended_Pictographic}).$", "a"));
  const char* const not_assigned = "\xCD\xB8";  // U+0378
  EXPECT_FALSE(finds("^\\p{L}$", not_assigned));
  EXPECT_FALSE(finds("^\\P{L}$", not_assigned));
}

TEST(Pattern, refuses_what_is_not_regular_or_not_known) {
  for (const char* pattern : {"(?<=a)", "(?<!a)", "\\1", "(?i)a", "\\cA", "\\k<n>", "\\p{Nothing}",
                              "\\p{Script=Nothing}", "\\p{L}\\p{L&|.}"}) {
    EXPECT_THAT(problem(pattern), HasSubstr("is not supported")) << pattern;
  }
  for (const char* pattern : {"(",      "a)",    "[a",          "a**",    "*a",    "a{3,2}", "\\",
                              "[b-a]",  "\\xG0", "\\uD800",     "(?<a",   "(?=a",  "^*",     "\\b+",
                              "(?=a)?", "\\u{}", "\\u{110000}", "\\u{61", "\\p{L", "\\pL"}) {
    EXPECT_NE(problem(pattern), "") << pattern;
  }
}

// What remains of the pattern is not wrong: every accepted text matches it.
TEST(Pattern, has_the_shorter_texts_where_states_run_out) {
  size_t work = SIZE_MAX;
  const auto dfa = compile_pattern("^(a|b)*a(a|b){10}$", work);
  ASSERT_TRUE(dfa.ok());
  EXPECT_TRUE(dfa->complete);
  const auto larger = compile_pattern("^(a|b)*a(a|b){11}c?$", work);
  ASSERT_TRUE(larger.ok());
  EXPECT_FALSE(larger->complete);
  EXPECT_LE(larger->states.size(), kPatternDfaStatesMax + 200);
  EXPECT_TRUE(larger->accepts(to_code_points("a" + std::string(11, 'b'))));
  EXPECT_FALSE(larger->accepts(to_code_points("b" + std::string(11, 'a'))));
  EXPECT_THAT(problem("^(a|b)*a(a|b){20}$"), HasSubstr("more than 4000 states"));
}

// If needless ways were kept, the states would distinguish the distances to every "@" that might
// begin the last part.
TEST(Pattern, does_not_keep_what_another_way_makes_needless) {
  size_t work = SIZE_MAX;
  const auto dfa = compile_pattern("^[\\s\\S]{1,}@[\\s\\S]{0,64}$", work);
  ASSERT_TRUE(dfa.ok());
  EXPECT_TRUE(dfa->complete);
  EXPECT_LT(dfa->states.size(), 100u);
  EXPECT_TRUE(dfa->accepts(to_code_points("a@@" + std::string(63, 'b'))));
  EXPECT_TRUE(dfa->accepts(to_code_points(std::string(100, 'a') + "@")));
  EXPECT_FALSE(dfa->accepts(to_code_points("a@" + std::string(65, 'b'))));
}

TEST(Pattern, takes_from_what_may_be_done) {
  size_t work = 1000;
  EXPECT_TRUE(compile_pattern("^a$", work).ok());
  EXPECT_LT(work, 1000u);
  EXPECT_GT(work, 0u);
  EXPECT_FALSE(compile_pattern("^(a|b)*a(a|b){9}$", work).ok());
  EXPECT_EQ(work, 0u);
}

}  // namespace
}  // namespace cascade
