// Cutting text into pieces: behaviours, steps, and hand-written patterns compared with PCRE2.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "model/tokenizer/pre_tokenizer_classes.h"
#include "model/tokenizer/pre_tokenizer_patterns.h"
#include "tests/long_tests.h"
#include "tests/model/tokenizer/pieces.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

Json split_json(const char* kind, const std::string& pattern, const char* behavior,
                bool invert = false) {
  return {{"type", "Split"},
          {"pattern", {{kind, pattern}}},
          {"behavior", behavior},
          {"invert", invert}};
}

TEST(TokenizerPreTokenizer, each_behaviour_of_split) {
  const std::string text = "How are you doing?";
  const std::string words = R"(\w+|[^\w\s]+)";
  const auto pieces = [&](const char* behavior) {
    return split(split_json("Regex", words, behavior, true), text);
  };
  EXPECT_EQ(pieces("Removed"), (Pieces{"How", "are", "you", "doing", "?"}));
  EXPECT_EQ(pieces("Isolated"), (Pieces{"How", " ", "are", " ", "you", " ", "doing", "?"}));
  EXPECT_EQ(pieces("MergedWithPrevious"), (Pieces{"How ", "are ", "you ", "doing", "?"}));
  EXPECT_EQ(pieces("MergedWithNext"), (Pieces{"How", " are", " you", " doing", "?"}));
  EXPECT_EQ(pieces("Contiguous"), (Pieces{"How", " ", "are", " ", "you", " ", "doing?"}));
}

TEST(TokenizerPreTokenizer, delimiters_next_to_each_other) {
  const auto pieces = [](const char* behavior) {
    return split(split_json("String", "-", behavior), "--the-final--countdown-");
  };
  EXPECT_EQ(pieces("Removed"), (Pieces{"the", "final", "countdown"}));
  EXPECT_EQ(pieces("Isolated"),
            (Pieces{"-", "-", "the", "-", "final", "-", "-", "countdown", "-"}));
  EXPECT_EQ(pieces("MergedWithPrevious"), (Pieces{"-", "-", "the-", "final-", "-", "countdown-"}));
  EXPECT_EQ(pieces("MergedWithNext"), (Pieces{"-", "-the", "-final", "-", "-countdown", "-"}));
  EXPECT_EQ(pieces("Contiguous"), (Pieces{"--", "the", "-", "final", "--", "countdown", "-"}));
}

TEST(TokenizerPreTokenizer, literals_are_not_regular_expressions) {
  EXPECT_EQ(split(split_json("String", ".", "Removed"), "a.b"), (Pieces{"a", "b"}));
  EXPECT_EQ(split(split_json("String", "Hello", "Removed", true), "Hello Hello"),
            (Pieces{"Hello", "Hello"}));
}

TEST(TokenizerPreTokenizer, digits) {
  const Json together = {{"type", "Digits"}, {"individual_digits", false}};
  const Json individual = {{"type", "Digits"}, {"individual_digits", true}};
  EXPECT_EQ(split(together, "Hey 123 friend!"), (Pieces{"Hey ", "123", " friend!"}));
  EXPECT_EQ(split(individual, "Hey 123 friend!"), (Pieces{"Hey ", "1", "2", "3", " friend!"}));
  EXPECT_EQ(split(individual, "1\u00BD\u0663x"), (Pieces{"1", "\u00BD", "\u0663", "x"}));
  EXPECT_EQ(split(together, "12"), (Pieces{"12"}));
}

TEST(TokenizerPreTokenizer, metaspace) {
  const auto json = [](const char* scheme, bool splits) {
    return Json{{"type", "Metaspace"},
                {"replacement", "\u2581"},
                {"prepend_scheme", scheme},
                {"split", splits}};
  };
  EXPECT_EQ(split(json("always", true), "Hey   friend!", false),
            (Pieces{"\u2581Hey", "\u2581", "\u2581", "\u2581friend!"}));
  EXPECT_EQ(split(json("first", true), "a b", true), (Pieces{"\u2581"
                                                             "a",
                                                             "\u2581"
                                                             "b"}));
  EXPECT_EQ(split(json("first", true), "a b", false), (Pieces{"a",
                                                              "\u2581"
                                                              "b"}));
  EXPECT_EQ(split(json("never", true), "a b", true), (Pieces{"a",
                                                             "\u2581"
                                                             "b"}));
  EXPECT_EQ(split(json("always", false), " a b"), (Pieces{"\u2581"
                                                          "a\u2581"
                                                          "b"}));
  EXPECT_EQ(split(json("never", true), "ab "), (Pieces{"ab", "\u2581"}));
}

TEST(TokenizerPreTokenizer, only_the_piece_at_the_start_is_first) {
  const Json first = {
      {"type", "Metaspace"}, {"replacement", "_"}, {"prepend_scheme", "first"}, {"split", false}};
  const auto pieces = [&](const char* behavior, const char* text) {
    return split(
        {{"type", "Sequence"}, {"pretokenizers", {split_json("String", "-", behavior), first}}},
        text);
  };
  EXPECT_EQ(pieces("Isolated", "a-b"), (Pieces{"_a", "-", "b"}));
  EXPECT_EQ(pieces("Removed", "-b"), (Pieces{"b"}));
}

TEST(TokenizerPreTokenizer, byte_level) {
  const auto json = [](bool prefix, bool regex) {
    return Json{{"type", "ByteLevel"}, {"add_prefix_space", prefix}, {"use_regex", regex}};
  };
  EXPECT_EQ(split(json(false, true), "Hello my friend, how is your day going?"),
            (Pieces{"Hello", "\u0120my",
                    "\u0120"
                    "friend",
                    ",", "\u0120how", "\u0120is", "\u0120your",
                    "\u0120"
                    "day",
                    "\u0120going", "?"}));
  EXPECT_EQ(split(json(true, false), "a b"), (Pieces{"\u0120"
                                                     "a\u0120"
                                                     "b"}));
  EXPECT_EQ(split(json(true, true), " a"), (Pieces{"\u0120"
                                                   "a"}));
  EXPECT_EQ(split(json(false, true), "i\u2B62j"), (Pieces{"i", "\u00E2\u0143\u00A2", "j"}));
  EXPECT_EQ(split(json(false, true), "there       dear"),
            (Pieces{"there", "\u0120\u0120\u0120\u0120\u0120\u0120",
                    "\u0120"
                    "dear"}));
}

TEST(TokenizerPreTokenizer, steps_of_a_sequence_cut_what_the_ones_before_gave) {
  const Json json = {{"type", "Sequence"},
                     {"pretokenizers",
                      {{{"type", "Digits"}, {"individual_digits", true}},
                       {{"type", "ByteLevel"}, {"add_prefix_space", false}}}}};
  EXPECT_EQ(split(json, "a 12 b"), (Pieces{"a", "\u0120", "1", "2",
                                           "\u0120"
                                           "b"}));
}

// Each pair of steps doubles a text, so twenty pairs would turn a megabyte into a terabyte.
TEST(TokenizerPreTokenizer, what_steps_write_is_limited) {
  const Json byte_level = {{"type", "ByteLevel"}, {"add_prefix_space", false}};
  const Json prefix = {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", false}};
  const Json singles = split_json("Regex", ".", "Isolated");
  for (const auto& [step, other] :
       {std::pair(byte_level, byte_level), std::pair(singles, prefix)}) {
    std::vector<Json> steps;
    for (int i = 0; i < 16; ++i) steps.insert(steps.end(), {step, other});
    const Json json = {{"type", "Sequence"}, {"pretokenizers", steps}};
    const auto pre_tokenizer = PreTokenizer::load(&json, "pre_tokenizer");
    ASSERT_TRUE(pre_tokenizer.ok()) << pre_tokenizer.error().to_string();
    TextBudget budget(1);
    const size_t bytes_max = budget.bytes_left();
    RegexScratch scratch(budget);
    PieceCollector collector;
    const Status status = pre_tokenizer->split("\u00E9\u00E9", true, scratch, collector);
    ASSERT_FALSE(status.ok()) << json.dump();
    EXPECT_EQ(status.error().field, "text");
    size_t bytes = 0;
    for (const std::string& piece : collector.pieces) bytes += piece.size();
    EXPECT_LE(bytes, bytes_max);
  }
}

TEST(TokenizerPreTokenizer, hand_written_patterns_equal_their_regular_expressions) {
  Random random(test_seed());
  TextBudget budget(size_t{1} << 30);
  RegexScratch scratch(budget);
  for (const KnownPattern pattern :
       {KnownPattern::kGpt2, KnownPattern::kLlama3, KnownPattern::kQwen2}) {
    const auto regex = TokenizerRegex::compile(known_pattern_text(pattern), "pattern");
    ASSERT_TRUE(regex.ok());
    EXPECT_EQ(known_pattern(known_pattern_text(pattern)), pattern);
    for (int round = long_or(3000, 600); round > 0; --round) {
      std::string text = random_text(random, 1 + random.below(60));
      if (round % 2 == 0) text += "'S'll\u2003'\u017F \u180E\n \u0085\r\n'Re 1234";
      TokenizerRegex::Matches matches(*regex, text, scratch);
      size_t end = 0;
      while (end < text.size()) {
        const auto match = matches.next();
        ASSERT_TRUE(match.ok() && match->has_value());
        ASSERT_EQ((*match)->begin, end) << Json(text).dump();
        end = known_pattern_end(pattern, text, end);
        ASSERT_EQ((*match)->end, end) << Json(text).dump();
      }
    }
  }
}

TEST(TokenizerPreTokenizer, classes_of_characters) {
  const CharacterClasses& classes = CharacterClasses::instance();
  EXPECT_EQ(classes.of('a'), CharacterClass::kLetter);
  EXPECT_EQ(classes.of(0x65E5), CharacterClass::kLetter);
  EXPECT_EQ(classes.of('7'), CharacterClass::kNumber);
  EXPECT_EQ(classes.of(0xBD), CharacterClass::kNumber);
  EXPECT_EQ(classes.of(0x3000), CharacterClass::kSpace);
  EXPECT_EQ(classes.of(0x85), CharacterClass::kSpace);
  EXPECT_EQ(classes.of(0x180E), CharacterClass::kOther);
  EXPECT_EQ(classes.of(0x200B), CharacterClass::kOther);
  EXPECT_EQ(classes.of(0), CharacterClass::kOther);
  EXPECT_EQ(classes.of(0x10FFFF), CharacterClass::kOther);
}

}  // namespace
}  // namespace cascade::testing
