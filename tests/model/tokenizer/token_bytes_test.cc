// The bytes of single tokens, joined, are the decoded text.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/model/tokenizer/testing.h"

namespace cascade::testing {
namespace {

Json tokenizer_with(const Json& decoder, const std::vector<std::string>& tokens) {
  Json vocabulary = Json::object();
  for (const std::string& token : tokens) vocabulary[token] = vocabulary.size();
  return {{"version", "1.0"},
          {"added_tokens", Json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", nullptr},
          {"post_processor", nullptr},
          {"decoder", decoder},
          {"model",
           {{"type", "BPE"},
            {"vocab", vocabulary},
            {"merges", Json::array()},
            {"byte_fallback", false},
            {"unk_token", nullptr},
            {"dropout", nullptr},
            {"fuse_unk", false},
            {"ignore_merges", false},
            {"continuing_subword_prefix", nullptr},
            {"end_of_word_suffix", nullptr}}}};
}

Tokenizer load_from(const Json& json) {
  auto tokenizer = Tokenizer::load(json, Json());
  EXPECT_TRUE(tokenizer.ok()) << (tokenizer.ok() ? "" : tokenizer.error().to_string());
  return *std::move(tokenizer);
}

const Json kSentencePiece = {
    {"type", "Sequence"},
    {"decoders",
     {{{"type", "Replace"}, {"pattern", {{"String", "\xE2\x96\x81"}}}, {"content", " "}},
      {{"type", "ByteFallback"}},
      {{"type", "Fuse"}},
      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}};

TEST(TokenBytes, joined_are_the_text_of_the_demo_model) {
  const auto tokenizer = load_from(read_json(demo_model_dir() / "tokenizer.json"));
  const auto bytes = tokenizer.token_bytes();
  ASSERT_TRUE(bytes.has_value());
  EXPECT_FALSE(bytes->drops_first_space);
  Random random(test_seed());
  for (int i = 0; i < 50; ++i) {
    const std::string text = random_text(random, 60);
    const auto ids = tokenizer.encode(text, false, false);
    ASSERT_TRUE(ids.ok());
    std::string joined;
    for (const int32_t id : *ids) joined += bytes->bytes[static_cast<size_t>(id)];
    EXPECT_EQ(joined, tokenizer.decode(*ids, false));
  }
  EXPECT_EQ(bytes->bytes[static_cast<size_t>(*tokenizer.token_id("<|im_end|>"))], "");
  EXPECT_EQ(bytes->bytes[static_cast<size_t>(*tokenizer.token_id("<tool_call>"))], "<tool_call>");
}

TEST(TokenBytes, of_pieces_with_byte_fallback) {
  const std::vector<std::string> tokens = {"\xE2\x96\x81{", "<0x0A>", "a\xE2\x96\x81\xE2\x96\x81",
                                           "<0xC3>",        "<0xA9>", "<0xZZ>"};
  const auto tokenizer = load_from(tokenizer_with(kSentencePiece, tokens));
  const auto bytes = tokenizer.token_bytes();
  ASSERT_TRUE(bytes.has_value());
  EXPECT_TRUE(bytes->drops_first_space);
  const std::vector<std::string> expected = {" {", "\n", "a  ", "\xC3", "\xA9", "<0xZZ>"};
  EXPECT_EQ(bytes->bytes, expected);
  EXPECT_EQ(tokenizer.decode(Ids{0, 1, 2, 3, 4}, true), "{\na  \xC3\xA9");
}

TEST(TokenBytes, are_not_known_where_tokens_are_joined_by_more) {
  const Json strip = {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}};
  for (const Json& decoder : {Json(), strip}) {
    EXPECT_FALSE(load_from(tokenizer_with(decoder, {"a", "b"})).token_bytes().has_value());
  }
}

using Strings = std::vector<std::string>;

Strings pieces_of(const Tokenizer& tokenizer, const Ids& ids, TextStart start) {
  const auto pieces = tokenizer.pieces(ids, start, size_t{1} << 20);
  EXPECT_TRUE(pieces.has_value());
  Strings bytes;
  for (const TokenPiece& piece : *pieces) bytes.push_back(piece.bytes);
  return bytes;
}

std::string joined(const Strings& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += piece;
  return text;
}

class TokenPieces : public ::testing::TestWithParam<const char*> {};

TEST_P(TokenPieces, joined_are_the_text) {
  const auto tokenizer = load_from(read_json(fixtures_dir() / GetParam() / "tokenizer.json"));
  Random random(test_seed());
  for (int i = 0; i < 60; ++i) {
    const std::string text = " " + random_text(random, 40);
    Ids ids = *tokenizer.encode(text, false, false);
    // In some fixtures byte tokens are special.
    std::erase_if(ids, [&](int32_t id) { return tokenizer.is_special(id); });
    for (const TextStart start : {TextStart::kFirst, TextStart::kNone}) {
      const bool goes_on = start == TextStart::kNone;
      const auto decoded = tokenizer.decode(ids, true, text.size() * 8, goes_on);
      ASSERT_EQ(joined(pieces_of(tokenizer, ids, start)), decoded) << text;
    }
    // A token by itself gives the same piece as within the text (kNone), or a text of its own
    // (kEach).
    const Strings within = pieces_of(tokenizer, ids, TextStart::kNone);
    const Strings alone = pieces_of(tokenizer, ids, TextStart::kEach);
    for (size_t k = 0; k < ids.size(); ++k) {
      ASSERT_EQ(pieces_of(tokenizer, {ids[k]}, TextStart::kNone).front(), within[k]);
      ASSERT_EQ(utf8_replace_malformed(alone[k]), tokenizer.decode(Ids{ids[k]}, true));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Fixtures, TokenPieces,
                         ::testing::Values("mistral-swa", "llama-mha", "llama3-rope", "qwen3-gqa"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

TEST(TokenPieces, keep_the_space_that_only_the_beginning_of_a_text_loses) {
  const Strings tokens = {"\xE2\x96\x81x", "\xE2\x96\x81(", "(", "y", "<0xC3>", "<0x20>"};
  const Json metaspace = {
      {"type", "Metaspace"}, {"replacement", "\xE2\x96\x81"}, {"prepend_scheme", "always"}};
  for (const Json& decoder : {kSentencePiece, metaspace}) {
    const auto tokenizer = load_from(tokenizer_with(decoder, tokens));
    EXPECT_EQ(pieces_of(tokenizer, {0, 1, 3}, TextStart::kFirst), (Strings{"x", " (", "y"}));
    EXPECT_EQ(pieces_of(tokenizer, {0, 1, 2}, TextStart::kNone), (Strings{" x", " (", "("}));
    EXPECT_EQ(pieces_of(tokenizer, {0, 1, 2}, TextStart::kEach), (Strings{"x", "(", "("}));
    EXPECT_EQ(tokenizer.decode(Ids{1, 3}, true, 100, /*goes_on=*/true), " (y");
  }
  const auto tokenizer = load_from(tokenizer_with(kSentencePiece, tokens));
  EXPECT_EQ(pieces_of(tokenizer, {5, 4, 5}, TextStart::kFirst), (Strings{"", "\xC3", " "}));
}

TEST(TokenPieces, of_a_decoder_that_puts_spaces_between_tokens_begin_with_one) {
  const auto tokenizer = load_from(tokenizer_with(Json(), {"a", "b"}));
  EXPECT_EQ(pieces_of(tokenizer, {0, 1, 1}, TextStart::kFirst), (Strings{"a", " b", " b"}));
  EXPECT_EQ(pieces_of(tokenizer, {0, 1}, TextStart::kNone), (Strings{" a", " b"}));
  EXPECT_EQ(tokenizer.decode(Ids{0, 1}, true, 100, /*goes_on=*/true), " a b");
}

TEST(TokenPieces, tell_special_tokens_which_begin_no_text) {
  Json json = tokenizer_with(kSentencePiece, {"<s>", "\xE2\x96\x81x"});
  json["added_tokens"].push_back({{"id", 0},
                                  {"content", "<s>"},
                                  {"single_word", false},
                                  {"lstrip", false},
                                  {"rstrip", false},
                                  {"normalized", false},
                                  {"special", true}});
  const auto tokenizer = load_from(json);
  const auto pieces = tokenizer.pieces(Ids{0, 1, 0, 7}, TextStart::kFirst, 100);
  ASSERT_TRUE(pieces.has_value());
  EXPECT_TRUE((*pieces)[0].is_special && (*pieces)[2].is_special);
  EXPECT_EQ((*pieces)[0].bytes, "<s>");
  EXPECT_FALSE((*pieces)[1].is_special);
  EXPECT_EQ((*pieces)[1].bytes, "x");
  EXPECT_EQ((*pieces)[3].bytes, "");  // no token has this id
}

TEST(TokenPieces, stop_where_they_are_too_long) {
  const auto tokenizer = load_from(tokenizer_with(kSentencePiece, {"abc"}));
  EXPECT_TRUE(tokenizer.pieces(Ids{0, 0}, TextStart::kFirst, 6).has_value());
  EXPECT_FALSE(tokenizer.pieces(Ids{0, 0, 0}, TextStart::kFirst, 8).has_value());
}

}  // namespace
}  // namespace cascade::testing
