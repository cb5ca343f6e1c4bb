// Added tokens: the longest match, words, white space, normalised spellings.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/tokenizer/added_tokens_matcher.h"
#include "model/tokenizer/added_tokens_table.h"
#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

struct Flags {
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;
};

Json token_with(int32_t id, const char* content, const Flags& flags) {
  Json token = added_token(id, content);
  token["single_word"] = flags.single_word;
  token["lstrip"] = flags.lstrip;
  token["rstrip"] = flags.rstrip;
  token["normalized"] = flags.normalized;
  return token;
}

// How the raw matcher of these tokens divides a trusted text: "[text]" is a token.
std::vector<std::string> parts(const std::vector<Json>& tokens, const std::string& text) {
  Json json = byte_level_json({});
  for (const Json& token : tokens) json["added_tokens"].push_back(token);
  const auto root = JsonPart::of(json, "");
  const BpeVocabulary no_vocabulary;
  const auto added = AddedTokens::load(*root, Json(), no_vocabulary, Normalizer({}));
  EXPECT_TRUE(added.ok()) << added.error().to_string();
  const ByteRange all{0, text.size()};
  AddedTokensScan scan(*added, added->raw_matcher(), text, {&all, 1});
  std::vector<std::string> found;
  while (const auto part = scan.next()) {
    const std::string piece = text.substr(part->range.begin, part->range.end - part->range.begin);
    found.push_back(part->token == nullptr ? piece : "[" + piece + "]");
  }
  return found;
}

using Parts = std::vector<std::string>;

TEST(TokenizerAddedTokens, the_leftmost_longest_wins) {
  const std::vector<Json> tokens = {added_token(300, "<a"), added_token(301, "<a>"),
                                    added_token(302, "a><"), added_token(303, "<a><b>")};
  EXPECT_EQ(parts(tokens, "<a>"), (Parts{"[<a>]"}));
  EXPECT_EQ(parts(tokens, "x<a><b"), (Parts{"x", "[<a>]", "<b"}));
  EXPECT_EQ(parts(tokens, "<a><b><a"), (Parts{"[<a><b>]", "[<a]"}));
  EXPECT_EQ(parts(tokens, "xa><a>"), (Parts{"x", "[a><]", "a>"}));
  EXPECT_EQ(parts(tokens, ""), Parts());
}

TEST(TokenizerAddedTokens, a_single_word_stands_alone) {
  const std::vector<Json> tokens = {token_with(300, "<mask>", {.single_word = true})};
  EXPECT_EQ(parts(tokens, "<mask> My name <mask> A<mask> <mask>ony <mask>"),
            (Parts{"[<mask>]", " My name ", "[<mask>]", " A<mask> <mask>ony ", "[<mask>]"}));
  EXPECT_EQ(parts(tokens, "<mask>, <mask>- \u25CC\u0330<mask>"),
            (Parts{"[<mask>]", ", ", "[<mask>]", "- \u25CC\u0330<mask>"}));
  EXPECT_EQ(parts(tokens, "_<mask>"), (Parts{"_<mask>"}));
  EXPECT_EQ(parts(tokens, "\u24B6<mask>"), (Parts{"\u24B6<mask>"}));
}

TEST(TokenizerAddedTokens, tokens_take_the_white_space_beside_them) {
  const std::vector<Json> both = {
      token_with(300, "<m>", {.single_word = true, .lstrip = true, .rstrip = true})};
  EXPECT_EQ(parts(both, "Hi <m> there\t<m>\t<m>\u2000"),
            (Parts{"Hi", "[ <m> ]", "there", "[\t<m>\t]", "[<m>\u2000]"}));
  const std::vector<Json> left = {token_with(300, "<m>", {.lstrip = true})};
  EXPECT_EQ(parts(left, "a \n<m> b"), (Parts{"a", "[ \n<m>]", " b"}));
  EXPECT_EQ(parts(left, "  <m>"), (Parts{"[  <m>]"}));
  const std::vector<Json> right = {token_with(300, "<m>", {.rstrip = true})};
  EXPECT_EQ(parts(right, "a <m> \u3000 b"), (Parts{"a ", "[<m> \u3000 ]", "b"}));
  EXPECT_EQ(parts(right, "<m>  "), (Parts{"[<m>  ]"}));
}

// As in the reference, white space that a token has taken may contain another token.
TEST(TokenizerAddedTokens, a_token_may_begin_in_stripped_white_space) {
  const std::vector<Json> tokens = {token_with(300, "<m>", {.rstrip = true}),
                                    added_token(301, "\n")};
  EXPECT_EQ(parts(tokens, "<m> \nx"), (Parts{"[<m> \n]", "[\n]", "x"}));
}

TEST(TokenizerAddedTokens, a_long_run_of_white_space_is_walked_once) {
  Json json = byte_level_json({});
  json["added_tokens"] = Json::array({token_with(300, "\n", {.rstrip = true})});
  const std::string text(1'000'000, '\n');
  EXPECT_EQ(encode(load_tokenizer(json), text, true), Ids(text.size(), 300));
}

TEST(TokenizerAddedTokens, normalized_tokens_match_normalized_text) {
  Json json = byte_level_json({});
  json["normalizer"] = {{"type", "NFC"}};
  json["added_tokens"] = {token_with(300, "caf\u00E9", {.normalized = true}),
                          token_with(301, "the\u0301", {.normalized = false}),
                          token_with(302, "nai\u0308f", {.normalized = true})};
  const Tokenizer tokenizer = load_tokenizer(json);
  EXPECT_EQ(encode(tokenizer, "cafe\u0301", true), (Ids{300}));
  EXPECT_EQ(encode(tokenizer, "the\u0301", true), (Ids{301}));
  EXPECT_NE(encode(tokenizer, "th\u00E9", true), (Ids{301}));
  EXPECT_EQ(encode(tokenizer, "na\u00EFf", true), (Ids{302}));
}

TEST(TokenizerAddedTokens, config_adds_tokens_and_sets_flags) {
  Json json = byte_level_json({});
  json["added_tokens"] = Json::array({added_token(256, "<s>")});
  const Json config = {{"added_tokens_decoder",
                        {{"256", {{"content", "<s>"}, {"rstrip", true}, {"normalized", false}}},
                         {"300", {{"content", "<x>"}, {"special", true}, {"__type", "AddedToken"}}},
                         {"301", {{"content", "<y>"}}}}},
                       {"model_max_length", 1e30}};
  const Tokenizer tokenizer = load_tokenizer(json, config);
  EXPECT_EQ(encode(tokenizer, "<s>  <x><y>", true), (Ids{256, 300, 301}));
  EXPECT_TRUE(tokenizer.is_special(256));
  EXPECT_TRUE(tokenizer.is_special(300));
  EXPECT_FALSE(tokenizer.is_special(301));
  EXPECT_EQ(tokenizer.id_count(), 302);
  EXPECT_EQ(tokenizer.token_id("<y>"), 301);
  EXPECT_EQ(tokenizer.decode(Ids{300, 'a', 299, 301}, false), "<x>a<y>");
  EXPECT_EQ(tokenizer.decode(Ids{300, 'a', 299, 301}, true), "a<y>");
}

TEST(TokenizerAddedTokens, think_tokens_need_both) {
  Json json = byte_level_json({});
  json["added_tokens"] = {added_token(256, "<think>", false), added_token(257, "[THINK]", false),
                          added_token(258, "[/THINK]", false)};
  const auto think = load_tokenizer(json).think_tokens();
  ASSERT_TRUE(think.has_value());
  EXPECT_EQ(think->open, 257);
  EXPECT_EQ(think->close, 258);
  json["added_tokens"].erase(2);
  EXPECT_FALSE(load_tokenizer(json).think_tokens().has_value());
}

// Compares the matcher with the definition for random literals, texts and trusted ranges.
TEST(TokenizerAddedTokens, the_matcher_equals_the_definition) {
  Random random(test_seed());
  const auto word = [&](size_t size) {
    std::string text;
    for (size_t i = 0; i < size; ++i) text += static_cast<char>('a' + random.below(3));
    return text;
  };
  for (int round = 0; round < 500; ++round) {
    std::vector<std::string> texts;
    for (int i = 0; i < 6; ++i) {
      const std::string candidate = word(1 + random.below(5));
      if (std::find(texts.begin(), texts.end(), candidate) == texts.end()) {
        texts.push_back(candidate);
      }
    }
    std::vector<AddedTokensMatcher::Literal> literals;
    for (uint32_t i = 0; i < texts.size(); ++i) literals.push_back({texts[i], i, i % 3 == 0});
    const AddedTokensMatcher matcher(literals);
    const std::string text = word(random.below(40));
    std::vector<ByteRange> trusted;
    for (size_t at = random.below(5); at < text.size(); at += random.below(5)) {
      const size_t end = std::min(text.size(), at + 1 + random.below(8));
      trusted.push_back({at, end});
      at = end;
    }
    AddedTokensMatcher::Scan scan(matcher, text, trusted);
    for (size_t at = 0; at < text.size();) {
      const AddedTokensMatcher::Literal* best = nullptr;
      for (const auto& literal : literals) {
        const size_t end = at + literal.text.size();
        const bool is_trusted = std::any_of(trusted.begin(), trusted.end(), [&](ByteRange range) {
          return range.begin <= at && end <= range.end;
        });
        if (!text.substr(at).starts_with(literal.text) || !(literal.is_plain || is_trusted)) {
          continue;
        }
        if (best == nullptr || literal.text.size() > best->text.size()) best = &literal;
      }
      if (best == nullptr) {
        ++at;
        continue;
      }
      const auto match = scan.next();
      ASSERT_TRUE(match.has_value());
      EXPECT_EQ(match->range, (ByteRange{at, at + best->text.size()}));
      at = match->range.end;
    }
    EXPECT_FALSE(scan.next().has_value());
  }
}

}  // namespace
}  // namespace cascade::testing
