// Values of sampling and limits as clients of other servers send them.
#include "wire/openai/generation_fields.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "wire/openai/chat.h"
#include "wire/openai/completions.h"
#include "wire/openai/responses.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

using ::testing::HasSubstr;

// Each API reads the fields `more`; responses have their own name for max_tokens.
std::vector<wire::GenerateRequest> requests_with(const std::string& more) {
  std::string of_response = more;
  const size_t at = of_response.find("max_tokens");
  if (at != std::string::npos) of_response.replace(at, 10, "max_output_tokens");
  const auto chat = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  const auto raw = decode_completion(R"({"prompt":"Hi",)" + more + "}");
  const auto response = decode_response(R"({"input":"Hi",)" + of_response + "}");
  EXPECT_TRUE(chat.ok() && raw.ok() && response.ok()) << more;
  if (!chat.ok() || !raw.ok() || !response.ok()) return {};
  return {chat->request, raw->request, response->request};
}

std::string error_of(const std::string& more) {
  const auto chat = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  return chat.ok() ? "none" : chat.error().to_string();
}

std::string field_refused(const std::string& more) {
  const auto chat = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  return chat.ok() ? "none" : chat.error().field;
}

TEST(GenerationFields, the_nucleus_of_nothing_is_the_likeliest_token) {
  for (const auto& request : requests_with(R"("top_p":0)")) EXPECT_EQ(request.sampling.top_p, 0);
  EXPECT_EQ(field_refused(R"("top_p":-0.1)"), "top_p");
}

TEST(GenerationFields, a_limit_of_minus_one_is_none) {
  for (const auto& request : requests_with(R"("max_tokens":-1)")) {
    EXPECT_EQ(request.max_tokens, INT32_MAX);
  }
  EXPECT_EQ(
      decode_chat(R"({"messages":[{"role":"user","content":"x"}],"max_completion_tokens":-1})")
          ->request.max_tokens,
      INT32_MAX);
  EXPECT_EQ(field_refused(R"("max_tokens":0)"), "max_tokens");
  EXPECT_EQ(field_refused(R"("max_tokens":-2)"), "max_tokens");
}

TEST(GenerationFields, a_seed_of_minus_one_is_drawn) {
  for (const auto& request : requests_with(R"("seed":-1)")) EXPECT_FALSE(request.sampling.seed);
  for (const auto& request : requests_with(R"("seed":-2)")) {
    EXPECT_EQ(request.sampling.seed, UINT64_MAX - 1);
  }
}

TEST(GenerationFields, empty_stop_strings_are_none) {
  for (const std::string stop : {"\"\"", "[]", "[\"\"]", "null"}) {
    for (const auto& request : requests_with("\"stop\":" + stop)) {
      EXPECT_TRUE(request.stop.empty()) << stop;
    }
  }
  for (const auto& request : requests_with(R"("stop":["a",""])")) {
    EXPECT_EQ(request.stop, std::vector<std::string>{"a"});
  }
  EXPECT_EQ(field_refused(R"("stop":5)"), "stop");
  EXPECT_EQ(field_refused(R"("stop":[5])"), "stop");
  EXPECT_EQ(field_refused(R"("stop":{"a":"b"})"), "stop");
}

TEST(GenerationFields, the_attention_mode_has_one_of_the_known_forms) {
  for (const auto& request : requests_with(R"("attention":"window:512:16")")) {
    EXPECT_EQ(request.attention, "window:512:16");
  }
  for (const auto& request : requests_with(R"("attention":"select:512")")) {
    EXPECT_EQ(request.attention, "select:512");
  }
  for (const auto& request : requests_with(R"("attention":null)")) {
    EXPECT_FALSE(request.attention.has_value());
  }
  for (const std::string wrong : {"512", "\"\"", "\"sparse\"", "\"window:63\"", "\"select:63\""}) {
    EXPECT_EQ(field_refused("\"attention\":" + wrong), "attention") << wrong;
  }
}

TEST(GenerationFields, an_attention_mode_that_is_too_long_is_not_repeated) {
  const std::string longest(wire::kAttentionBytesMax, 'w');
  EXPECT_THAT(error_of("\"attention\":\"" + longest + '"'), HasSubstr("got \"" + longest + '"'));
  EXPECT_EQ(error_of("\"attention\":\"" + longest + "w\""),
            "invalid_argument: attention: has 65 bytes, more than the limit of 64; must be dense, "
            "window, window:W, window:W:S, select, select:B, select:B:D, verify, verify:B or "
            "verify:B:D");
}

TEST(GenerationFields, an_effort_of_reasoning_is_a_word_for_the_template) {
  for (const auto& request : requests_with(R"("reasoning_effort":"xhigh")")) {
    EXPECT_EQ(request.reasoning_effort, "xhigh");
    EXPECT_EQ(request.thinking, true);
  }
  for (const auto& request : requests_with(R"("reasoning_effort":"none")")) {
    EXPECT_EQ(request.reasoning_effort, "none");
    EXPECT_EQ(request.thinking, false);
  }
  for (const auto& request : requests_with(R"("reasoning_effort":null,"reasoning":null)")) {
    EXPECT_FALSE(request.reasoning_effort.has_value() || request.thinking.has_value());
  }
  for (const std::string wrong : {"\"\"", "\"High\"", "\"very high\"", "5", "true", "[\"low\"]"}) {
    EXPECT_EQ(field_refused("\"reasoning_effort\":" + wrong), "reasoning_effort") << wrong;
  }
  EXPECT_EQ(error_of(R"("reasoning_effort":"a lot")"),
            "invalid_argument: reasoning_effort: must have 1 to 32 characters, each a to z, _ or "
            "-, such as \"high\"");
}

TEST(GenerationFields, whole_numbers_may_have_a_point) {
  for (const auto& request : requests_with(R"("max_tokens":10.0,"top_k":5.0,"seed":7.0)")) {
    EXPECT_EQ(request.max_tokens, 10);
    EXPECT_EQ(request.sampling.top_k, 5);
    EXPECT_EQ(request.sampling.seed, 7u);
  }
  for (const std::string wrong : {"10.5", "1e300", "-1e300", "\"10\"", "true", "[10]"}) {
    EXPECT_EQ(field_refused("\"max_tokens\":" + wrong), "max_tokens") << wrong;
  }
}

}  // namespace
}  // namespace cascade::openai
