// Patterns against the standard library's, on random texts.
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
                            "(?<n>a)c"};
  size_t found = 0;
  for (const char* pattern : patterns) {
    // The library knows no named groups.
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

TEST(Pattern, refuses_what_is_not_regular_or_not_known) {
  for (const char* pattern : {"(?!a)", "(?=a)", "(?<=a)", "(?<!a)", "\\1", "\\bx", "\\p{L}", "a^b",
                              "a$b", "(^a)", "(a$)", "\\u{61}", "(?i)a", "\\cA"}) {
    EXPECT_THAT(problem(pattern), HasSubstr("is not supported")) << pattern;
  }
  for (const char* pattern :
       {"(", "a)", "[a", "a**", "*a", "a{3,2}", "\\", "[b-a]", "\\xG0", "\\uD800", "(?<a"}) {
    EXPECT_NE(problem(pattern), "") << pattern;
  }
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
