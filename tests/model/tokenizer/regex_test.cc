// Regular expressions: the dialect, the walk over matches, and the limits.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/tokenizer/regex.h"
#include "model/tokenizer/regex_dialect.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

using Ranges = std::vector<ByteRange>;

Ranges matches_of(std::string_view pattern, std::string_view text) {
  const auto regex = TokenizerRegex::compile(pattern, "pattern");
  EXPECT_TRUE(regex.ok()) << regex.error().to_string();
  TextBudget budget(text.size());
  RegexScratch scratch(budget);
  TokenizerRegex::Matches matches(*regex, text, scratch);
  Ranges ranges;
  for (;;) {
    const auto match = matches.next();
    EXPECT_TRUE(match.ok()) << match.error().to_string();
    if (!match.ok() || !match->has_value()) return ranges;
    ranges.push_back(**match);
  }
}

std::string translated(std::string_view pattern) {
  const auto result = pcre2_pattern(pattern, "pattern");
  return result.ok() ? *result : std::string(to_string(result.error().code));
}

TEST(TokenizerRegex, escapes_are_translated) {
  const std::string spaces(kRegexSpaces);
  EXPECT_EQ(translated(R"(\s)"), "[" + spaces + "]");
  EXPECT_EQ(translated(R"(\S)"), "[^" + spaces + "]");
  EXPECT_EQ(translated(R"([^\s\S])"), "[^" + spaces + R"(\S\x{180E}])");
  EXPECT_EQ(translated(R"(\w[\w])"),
            R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}][\p{Alphabetic}\p{M}\p{Nd}\p{Pc}])");
  EXPECT_EQ(translated(R"(\v)"), R"(\x0B)");
  EXPECT_EQ(translated(R"(\u00e9)"), R"(\x{00e9})");
  EXPECT_EQ(translated(R"(\p{Han}[\P{^Old_Italic}])"), R"(\p{sc:Han}[\P{^sc:Old_Italic}])");
  EXPECT_EQ(translated(R"(\p{L}\p{Lu}\p{^N}\p{L&}\p{White_Space}\p{Any})"),
            R"(\p{L}\p{Lu}\p{^N}\p{L&}\p{White_Space}\p{Any})");
  EXPECT_EQ(translated(R"((?i:'s)|\p{N}{1,3}|[^\r\n]?\d+(?!\S))"),
            R"((?i:'s)|\p{N}{1,3}|[^\r\n]?\d+(?![^)" + spaces + "])");
}

TEST(TokenizerRegex, constructs_of_another_meaning_are_refused) {
  for (const char* pattern :
       {R"(^a)",          R"(a$)",        R"(\b)",   R"(\h)",         R"(\R)",    R"(\X)",
        R"(\K)",          R"(\G)",        R"(\1)",   R"(\x41)",       R"([\W])",  R"([a[b]])",
        R"([[:alpha:]])", R"([a&&b])",    R"([]a])", R"((?<name>a))", R"((?i)a)", R"((?x: a))",
        R"((?m:.))",      R"((*ACCEPT))", R"((?R))", R"(a{2}+)",      R"(a{2}?)", R"(a{,2})",
        R"(a{)",          R"(\pL)",       R"(\p{L)", R"((?#c))"}) {
    EXPECT_EQ(translated(pattern), "unsupported") << pattern;
  }
  for (const char* pattern : {"[a", "\\", "[\\", "\\u12", "\\u12x4"}) {
    EXPECT_EQ(translated(pattern), "invalid_argument") << pattern;
  }
}

TEST(TokenizerRegex, errors_repeat_the_beginning_of_a_pattern) {
  const std::string pattern = std::string(1000, '(') + "a" + std::string(1000, ')');
  const auto regex = TokenizerRegex::compile(pattern, "pattern");
  ASSERT_FALSE(regex.ok());
  EXPECT_LT(regex.error().message.size(), 500u);
}

TEST(TokenizerRegex, what_cannot_be_compiled_is_an_error) {
  for (const std::string& pattern :
       {std::string("(a"), std::string("a)"), std::string("*"), std::string(R"(\p{Nonsense})"),
        std::string("(?<=a*)b"), std::string("((((a{1,999}){1,999}){1,999}){1,999})"),
        std::string(300, '(') + std::string(300, ')'), std::string("a{70000}"),
        std::string(20000, 'a')}) {
    const auto regex = TokenizerRegex::compile(pattern, "where");
    ASSERT_FALSE(regex.ok()) << pattern.substr(0, 40);
    EXPECT_EQ(regex.error().field, "where");
  }
}

TEST(TokenizerRegex, matches_are_walked_from_left_to_right) {
  EXPECT_EQ(matches_of("a", "banana"), (Ranges{{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_EQ(matches_of("aa", "aaaaa"), (Ranges{{0, 2}, {2, 4}}));
  EXPECT_EQ(matches_of("a", ""), Ranges());
  EXPECT_EQ(matches_of(R"(\u65e5)", "\u65E5\u672C\u65E5"), (Ranges{{0, 3}, {6, 9}}));
}

TEST(TokenizerRegex, empty_matches_do_not_follow_a_match) {
  EXPECT_EQ(matches_of("a*", "baac"), (Ranges{{0, 0}, {1, 3}, {4, 4}}));
  EXPECT_EQ(matches_of("(?=b)",
                       "b\u65E5"
                       "b"),
            (Ranges{{0, 0}, {4, 4}}));
}

TEST(TokenizerRegex, white_space_is_that_of_unicode) {
  EXPECT_EQ(matches_of(R"(\s+)", "a\u180E\u3000\u0085 b"), (Ranges{{4, 10}}));
  EXPECT_EQ(matches_of(R"([^\S]+)", "a\u180E \t"), (Ranges{{4, 6}}));
}

TEST(TokenizerRegex, case_is_ignored_in_all_scripts) {
  EXPECT_EQ(matches_of("(?i:'s)", "'S'\u017F"), (Ranges{{0, 2}, {2, 5}}));
}

// U+3001 is used with Chinese, but belongs to no script.
TEST(TokenizerRegex, a_script_has_its_own_characters_only) {
  EXPECT_EQ(matches_of(R"(\p{Han}+)", "a\u4E00\u3005\u3001\u4E00"), (Ranges{{1, 7}, {10, 13}}));
  EXPECT_EQ(matches_of(R"([^\p{Han}]+)", "\u4E00\u3001a"), (Ranges{{3, 7}}));
  EXPECT_EQ(matches_of(R"(\p{^han}\P{Han})", "\u4E00\u3001a"), (Ranges{{3, 7}}));
}

TEST(TokenizerRegex, the_patterns_of_other_models_compile) {
  // The patterns of Mistral Nemo and GPT-4o; DeepSeek; StarCoder.
  for (const char* pattern :
       {R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|)"
        R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}|)"
        R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?)"
        R"([\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)",
        R"([一-龥぀-ゟ゠-ヿ]+)", R"(\p{N}{1,3})", R"(\s?\p{L}+|\s?\p{P}+)"}) {
    EXPECT_TRUE(TokenizerRegex::compile(pattern, "pattern").ok()) << pattern;
  }
}

TEST(TokenizerRegex, an_exploding_pattern_reaches_the_limit) {
  for (const char* pattern : {R"((?:a|a)+(?=b))", R"((?:a+)+(?=[bc]))", R"((?:a|aa)+(?=\d))"}) {
    const auto regex = TokenizerRegex::compile(pattern, "where");
    ASSERT_TRUE(regex.ok()) << pattern;
    const std::string text = std::string(60, 'a') + "!";
    TextBudget budget(text.size());
    RegexScratch scratch(budget);
    TokenizerRegex::Matches matches(*regex, text, scratch);
    const auto match = matches.next();
    ASSERT_FALSE(match.ok()) << pattern;
    EXPECT_EQ(match.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(match.error().field, "where");
  }
}

// A clock that advances by a fifth of a second between two readings.
class PassingClock : public Clock {
 public:
  int64_t monotonic_us() const override { return 200'000 * ++readings_; }
  int64_t wall_us() const override { return monotonic_us(); }

 private:
  mutable int64_t readings_ = 0;
};

// At each start these patterns need far fewer steps than the limit, or they count few steps while
// they read the text again and again. Only the time of all matches together bounds them.
TEST(TokenizerRegex, all_matches_in_a_text_share_its_time) {
  std::string english;
  while (english.size() < 5000) english += "the quick brown fox jumps over lazy dogs ";
  const std::string spaces = std::string(20'000, ' ') + "!xy";
  // A beginning that costs nothing must not make the later calls long.
  const std::string late = std::string(9'000, '!') + std::string(10'000, 'a');
  const std::pair<const char*, std::string> cases[] = {
      {R"((?:\p{L}|\p{Ll}|[a-z])*[\u4e00\u4e01])", english},
      {R"(\s+x)", spaces},
      {R"(\s++x)", spaces},
      {R"((?>\s+)x)", spaces},
      {R"((?:(?=\s++x)|\s)*y)", spaces},
      {R"((?=\s*+x)\s|\s)", spaces},
      {R"([a-z](?=(?>[\p{L}\p{Nd}]*)[\u4e00\u4e01]))", late},
  };
  for (const auto& [pattern, text] : cases) {
    const auto regex = TokenizerRegex::compile(pattern, "where");
    ASSERT_TRUE(regex.ok()) << pattern;
    const PassingClock clock;
    TextBudget budget(0, clock, clock);  // five readings
    RegexScratch scratch(budget);
    TokenizerRegex::Matches matches(*regex, text, scratch);
    auto match = matches.next();
    while (match.ok() && match->has_value()) match = matches.next();
    ASSERT_FALSE(match.ok()) << pattern;
    EXPECT_EQ(match.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(match.error().field, "where");
  }
}

// A search that at first gets few steps and few starts finds the same as a search with all of them.
TEST(TokenizerRegex, far_matches_and_those_of_many_steps_are_found) {
  const std::string many(20'000, 'a');
  const std::string kanji = "\u65E5";
  for (const size_t gap : {0, 1, 2, 3, 7, 100, 4095, 4096, 4097, 20'000}) {
    std::string text;
    for (size_t i = 0; i < gap; ++i) text += kanji;
    const size_t begin = text.size();
    text += many + "b";
    EXPECT_EQ(matches_of("(?:a|b)+", text), (Ranges{{begin, text.size()}})) << gap;
    EXPECT_EQ(matches_of("(?:a|aa)*b", text), (Ranges{{begin, text.size()}})) << gap;
    EXPECT_EQ(matches_of("b", text), (Ranges{{text.size() - 1, text.size()}})) << gap;
    EXPECT_EQ(matches_of("c", text), Ranges()) << gap;
    EXPECT_EQ(matches_of("(?!.)", text), (Ranges{{text.size(), text.size()}})) << gap;
  }
}

// Compiled code has a stack of 32 KiB; long repetitions of groups must not fail because of it.
TEST(TokenizerRegex, a_long_repetition_of_a_group_matches) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += i % 3 == 0 ? "ab" : "cde";
  EXPECT_EQ(matches_of("(?:ab|cde)+", text), (Ranges{{0, text.size()}}));
}

TEST(TokenizerRegex, a_long_run_of_white_space_matches) {
  const std::string text = std::string(size_t{2} << 20, ' ') + "x";
  EXPECT_EQ(matches_of(R"(\s*[\r\n]+|\s+(?!\S)|\s+|x)", text).size(), 3u);
}

// encode() reports an exceeded match limit as an error.
TEST(TokenizerRegex, encode_reports_the_limit) {
  Json json = byte_level_json({});
  json["pre_tokenizer"] = {{"type", "Split"},
                           {"pattern", {{"Regex", R"((?:a|aa)+(?=\d))"}}},
                           {"behavior", "Isolated"},
                           {"invert", false}};
  const Tokenizer tokenizer = load_tokenizer(json);
  const auto ids = tokenizer.encode(std::string(80, 'a'), false, false);
  ASSERT_FALSE(ids.ok());
  EXPECT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ids.error().field, "pre_tokenizer.pattern.Regex");
}

}  // namespace
}  // namespace cascade::testing
