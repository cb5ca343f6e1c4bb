// Tests of generation_config.json and its precedence over config.json.
#include <gtest/gtest.h>

#include "tests/model/config_testing.h"
#include "tests/shared_dir.h"

namespace cascade {
namespace {

using testing::read_config;

constexpr int kVocab = 1000;
const Json kEmpty = Json::object();

GenerationConfig parsed_generation(const Json& generation, const Json& config = kEmpty) {
  const auto result = parse_generation_config(generation, config, kVocab);
  EXPECT_TRUE(result.ok()) << result.error().to_string();
  return result.ok() ? *result : GenerationConfig();
}

void expect_invalid_generation(const Json& generation, std::string_view field,
                               const Json& config = kEmpty) {
  const auto result = parse_generation_config(generation, config, kVocab);
  ASSERT_FALSE(result.ok()) << generation.dump();
  EXPECT_EQ(result.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(result.error().field, field) << result.error().to_string();
  const std::string file =
      generation.contains(field) || &config == &kEmpty ? "generation_config.json" : "config.json";
  EXPECT_TRUE(field == file || result.error().message.ends_with("(in " + file + ")"))
      << result.error().to_string();
}

using TokenIds = std::vector<int32_t>;

TEST(GenerationConfig, has_the_hugging_face_defaults) {
  for (const Json& generation : {Json(), kEmpty}) {
    const GenerationConfig config = parsed_generation(generation);
    EXPECT_TRUE(config.end_tokens.empty());
    EXPECT_EQ(config.begin_token, std::nullopt);
    EXPECT_FALSE(config.do_sample);
    EXPECT_EQ(config.temperature, 1);
    EXPECT_EQ(config.top_p, 1);
    EXPECT_EQ(config.top_k, 50);
    EXPECT_EQ(config.min_p, 0);
    EXPECT_EQ(config.repetition_penalty, 1);
  }
}

TEST(GenerationConfig, default_top_k_fits_a_tiny_vocabulary) {
  EXPECT_EQ(parse_generation_config(kEmpty, kEmpty, 7)->top_k, 7);
}

TEST(GenerationConfig, reads_the_demo_model) {
  const auto dir = testing::demo_model_dir();
  const auto result = parse_generation_config(read_config(dir / "generation_config.json"),
                                              read_config(dir / "config.json"), 8192);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result->end_tokens, TokenIds({8185, 8183}));
  EXPECT_EQ(result->begin_token, 8183);
  EXPECT_TRUE(result->do_sample);
  EXPECT_EQ(result->temperature, 0.6);
  EXPECT_EQ(result->top_p, 0.95);
  EXPECT_EQ(result->top_k, 20);
}

TEST(GenerationConfig, reads_all_fixtures) {
  for (const char* name :
       {"llama-mha", "llama3-rope", "mistral-swa", "qwen2-bias", "qwen3-gqa", "gguf-types/hf"}) {
    const auto dir = testing::fixtures_dir() / name;
    const auto result = parse_generation_config(read_config(dir / "generation_config.json"),
                                                read_config(dir / "config.json"), 2048);
    ASSERT_TRUE(result.ok()) << name << result.error().to_string();
    const bool is_qwen = std::string_view(name).starts_with("qwen");
    const bool is_gguf = std::string_view(name).starts_with("gguf");
    EXPECT_EQ(result->end_tokens, is_qwen   ? TokenIds()
                                  : is_gguf ? TokenIds({1757, 1755})
                                            : TokenIds({2}));
    EXPECT_EQ(result->begin_token.value_or(-1), is_qwen ? -1 : is_gguf ? 1755 : 1);
    EXPECT_EQ(result->do_sample, is_gguf);
  }
}

TEST(GenerationConfig, end_tokens_are_a_number_or_a_list) {
  EXPECT_EQ(parsed_generation({{"eos_token_id", 2}}).end_tokens, TokenIds({2}));
  EXPECT_EQ(parsed_generation({{"eos_token_id", {2, 0, 999}}}).end_tokens, TokenIds({2, 0, 999}));
  EXPECT_EQ(parsed_generation({{"eos_token_id", nullptr}}).end_tokens, TokenIds());
  EXPECT_EQ(parsed_generation({{"eos_token_id", Json::array()}}).end_tokens, TokenIds());
  EXPECT_EQ(parsed_generation({{"eos_token_id", Json(TokenIds(64, 5))}}).end_tokens.size(), 64u);
  expect_invalid_generation({{"eos_token_id", Json(TokenIds(65, 5))}}, "eos_token_id");
  for (const Json& bad : {Json(-1), Json("2"), Json(2.0), Json(true), kEmpty, Json(UINT64_MAX),
                          Json(INT64_MIN), Json(int64_t{1} << 31)}) {
    expect_invalid_generation({{"eos_token_id", bad}}, "eos_token_id");
    expect_invalid_generation({{"eos_token_id", Json::array({1, bad})}}, "eos_token_id");
  }
  expect_invalid_generation({{"eos_token_id", Json::array({1, nullptr})}}, "eos_token_id");
  expect_invalid_generation({{"eos_token_id", Json::array({Json::array({1})})}}, "eos_token_id");
}

TEST(GenerationConfig, leaves_out_end_tokens_beyond_the_vocabulary_and_says_so) {
  const GenerationConfig some = parsed_generation({{"eos_token_id", {2, kVocab, 5}}});
  EXPECT_EQ(some.end_tokens, TokenIds({2, 5}));
  EXPECT_EQ(some.problems,
            std::vector<std::string>{"eos_token_id 1000 (in generation_config.json) is beyond the "
                                     "vocabulary of 1000 tokens: it ends no generation"});
  const GenerationConfig none = parsed_generation(nullptr, {{"eos_token_id", INT32_MAX}});
  EXPECT_EQ(none.end_tokens, TokenIds());
  ASSERT_EQ(none.problems.size(), 1u);
  EXPECT_NE(none.problems[0].find("(in config.json)"), std::string::npos);
  EXPECT_TRUE(parsed_generation({{"eos_token_id", 2}}).problems.empty());
}

TEST(GenerationConfig, wins_over_config_json) {
  const Json config = {{"eos_token_id", 7}, {"bos_token_id", 8}, {"temperature", 0.1}};
  EXPECT_EQ(parsed_generation(nullptr, config).end_tokens, TokenIds({7}));
  EXPECT_EQ(parsed_generation(nullptr, config).begin_token, 8);
  EXPECT_EQ(parsed_generation(nullptr, config).temperature, 1) << "config.json gives tokens only";
  const GenerationConfig both =
      parsed_generation({{"eos_token_id", {3, 4}}, {"bos_token_id", 5}}, config);
  EXPECT_EQ(both.end_tokens, TokenIds({3, 4}));
  EXPECT_EQ(both.begin_token, 5);
  EXPECT_EQ(parsed_generation({{"eos_token_id", nullptr}}, config).end_tokens, TokenIds({7}));
  expect_invalid_generation(nullptr, "eos_token_id", {{"eos_token_id", -1}});
  EXPECT_EQ(parsed_generation({{"eos_token_id", 3}}, {{"eos_token_id", -1}}).end_tokens,
            TokenIds({3}));
}

TEST(GenerationConfig, begin_token_is_one_number) {
  EXPECT_EQ(parsed_generation({{"bos_token_id", 0}}).begin_token, 0);
  for (const Json& bad : {Json(-1), Json(kVocab), Json("1"), Json::array({1}), Json(1.5)}) {
    expect_invalid_generation({{"bos_token_id", bad}}, "bos_token_id");
  }
}

TEST(GenerationConfig, holds_sampling_to_its_limits) {
  struct Limits {
    const char* key;
    std::vector<Json> fine;
    std::vector<Json> bad;
  };
  const std::vector<Limits> cases = {
      {"temperature", {0, 0.0, 100, 100.0}, {-0.1, 100.1, "1", true}},
      {"top_p", {1, 1.0, 1e-9}, {0, 0.0, -1, 1.01, "1"}},
      {"top_k", {0, 1, kVocab}, {-1, kVocab + 1, 2.5, "5"}},
      {"min_p", {0, 1, 0.5}, {-0.1, 1.1, "0"}},
      {"repetition_penalty", {0.01, 1, 100}, {0, -1, 100.5, "1"}},
      {"do_sample", {true, false}, {1, "true", 0.0}},
  };
  for (const auto& [key, fine, bad] : cases) {
    for (const Json& value : fine) parsed_generation({{key, value}});
    for (const Json& value : bad) expect_invalid_generation({{key, value}}, key);
    parsed_generation({{key, nullptr}});
  }
}

TEST(GenerationConfig, takes_what_is_given) {
  const GenerationConfig config = parsed_generation({{"do_sample", true},
                                                     {"temperature", 0.7},
                                                     {"top_p", 0.8},
                                                     {"top_k", 20},
                                                     {"min_p", 0.05},
                                                     {"repetition_penalty", 1.1}});
  EXPECT_TRUE(config.do_sample);
  EXPECT_EQ(config.temperature, 0.7);
  EXPECT_EQ(config.top_p, 0.8);
  EXPECT_EQ(config.top_k, 20);
  EXPECT_EQ(config.min_p, 0.05);
  EXPECT_EQ(config.repetition_penalty, 1.1);
}

TEST(GenerationConfig, refuses_what_is_no_object) {
  for (const Json& bad : {Json("x"), Json(1), Json::array()}) {
    expect_invalid_generation(bad, "generation_config.json");
  }
}

}  // namespace
}  // namespace cascade
