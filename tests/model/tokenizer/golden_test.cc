// The tokenizer, compared with Hugging Face's tokenizers for the same files and texts.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/model/tokenizer/testing.h"
#include "tests/places.h"

namespace cascade::testing {
namespace {

class TokenizerGolden : public ::testing::TestWithParam<const char*> {
 protected:
  static std::filesystem::path tokenizer_path() {
    const std::string name = GetParam();
    return name == "demo" ? demo_model_dir() / "tokenizer.json"
                          : fixtures_dir() / name / "tokenizer.json";
  }
  static Json golden() { return read_json(fixtures_dir() / GetParam() / "tokenizer_golden.json"); }
};

TEST_P(TokenizerGolden, ids_and_texts_equal_the_reference) {
  const Tokenizer tokenizer = load_tokenizer(read_json(tokenizer_path()));
  const Json entries = golden();
  ASSERT_GE(entries.size(), 50u);
  for (const Json& entry : entries) {
    const auto text = entry.at("text").get<std::string>();
    SCOPED_TRACE(Json(text).dump());
    const auto ids = entry.at("ids").get<Ids>();
    const auto ids_with_special = entry.at("ids_with_special").get<Ids>();
    EXPECT_EQ(encode(tokenizer, text, true), ids);
    const auto with_template = tokenizer.encode(text, true, true);
    ASSERT_TRUE(with_template.ok());
    EXPECT_EQ(*with_template, ids_with_special);
    EXPECT_EQ(tokenizer.decode(ids, false), entry.at("decoded").get<std::string>());
    EXPECT_EQ(tokenizer.decode(ids, true), entry.at("decoded_skip_special").get<std::string>());
  }
}

// A text that spells no added token has the same ids whoever wrote it.
TEST_P(TokenizerGolden, trust_does_not_matter_for_ordinary_text) {
  const Tokenizer tokenizer = load_tokenizer(read_json(tokenizer_path()));
  size_t compared = 0;
  for (const Json& entry : golden()) {
    const auto text = entry.at("text").get<std::string>();
    if (text.find('<') != std::string::npos) continue;
    EXPECT_EQ(encode(tokenizer, text, false), entry.at("ids").get<Ids>()) << text;
    ++compared;
  }
  EXPECT_GE(compared, 50u);
}

// Uses longer texts: the documents of this project.
TEST_P(TokenizerGolden, documents_come_back) {
  const Tokenizer tokenizer = load_tokenizer(read_json(tokenizer_path()));
  size_t compared = 0;
  const std::filesystem::path source = source_dir();
  for (const auto& folder : {source, source / "docs"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".md") continue;
      const auto text = read_file(entry.path(), size_t{16} << 20);
      ASSERT_TRUE(text.ok());
      EXPECT_EQ(tokenizer.decode(encode(tokenizer, *text), false), *text) << entry.path();
      compared += text->size();
    }
  }
  EXPECT_GE(compared, 100'000u);
}

TEST_P(TokenizerGolden, held_out_text_comes_back) {
  REQUIRE_SHARED("corpora/heldout.txt");
  const Tokenizer tokenizer = load_tokenizer(read_json(tokenizer_path()));
  const auto text = read_file(shared_dir() / "corpora/heldout.txt", size_t{16} << 20);
  ASSERT_TRUE(text.ok());
  EXPECT_EQ(tokenizer.decode(encode(tokenizer, *text), false), *text);
}

INSTANTIATE_TEST_SUITE_P(Fixtures, TokenizerGolden,
                         ::testing::Values("demo", "llama-mha", "llama3-rope", "mistral-swa",
                                           "qwen2-bias", "qwen3-gqa"),
                         [](const auto& param) {
                           std::string name = param.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

TEST(Tokenizer, demo_has_think_tokens_and_ids) {
  const Tokenizer tokenizer = load_demo_tokenizer();
  const auto think = tokenizer.think_tokens();
  ASSERT_TRUE(think.has_value());
  EXPECT_EQ(think->open, tokenizer.token_id("<think>"));
  EXPECT_EQ(think->close, tokenizer.token_id("</think>"));
  EXPECT_EQ(tokenizer.id_count(), 8192);
  EXPECT_TRUE(tokenizer.is_special(*tokenizer.token_id("<|im_end|>")));
  EXPECT_FALSE(tokenizer.is_special(think->open));
  EXPECT_FALSE(tokenizer.is_special(-1));
  EXPECT_FALSE(tokenizer.is_special(1 << 30));
  EXPECT_FALSE(tokenizer.token_id("<|no_such_token|>").has_value());
}

}  // namespace
}  // namespace cascade::testing
