// The bytes of single tokens, joined, are the decoded text.
#include <gtest/gtest.h>

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

}  // namespace
}  // namespace cascade::testing
