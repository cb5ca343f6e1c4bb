// Errors of the API.
#include "wire/openai/api_error.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "wire/openai/chat.h"
#include "wire/openai/generation_fields.h"

namespace cascade::openai {
namespace {

TEST(OpenAiError, what_the_request_names_is_not_repeated_at_any_length) {
  const std::string long_name(1 << 20, 'x');
  const std::string hi = R"({"messages":[{"role":"user","content":"Hi"}])";
  for (const std::string& body :
       {R"({"messages":[{"role":"user","content":[{"type":")" + long_name + R"("}]}]})",
        hi + R"(,"chat_template_kwargs":{")" + long_name + R"(":1}})"}) {
    const auto call = decode_chat(body);
    ASSERT_FALSE(call.ok());
    EXPECT_LT(encode(api_error(call.error())).size(), 3000u);
  }
}

TEST(OpenAiError, texts_are_cut_between_characters) {
  std::string text = "x";
  while (text.size() < 3000) text += "\u00e9";
  const ApiError error = api_error({ErrorCode::kInvalidArgument, "field", text});
  EXPECT_TRUE(is_utf8(error.message));
  EXPECT_EQ(error.param, "field");
}

TEST(OpenAiError, of_a_prompt_without_room_has_the_code_that_clients_know) {
  wire::ErrorReply reply = {
      invalid_argument("messages", "This model's maximum context length is 9"), 0, 9};
  const ApiError error = api_error_of(reply);
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.type, "invalid_request_error");
  EXPECT_EQ(error.code, "context_length_exceeded");
  EXPECT_EQ(error.param, "messages");
  EXPECT_EQ(error.message, "This model's maximum context length is 9");
  // The code is the same, whatever the daemon ran out of.
  reply.error.code = ErrorCode::kResourceExhausted;
  EXPECT_EQ(api_error_of(reply).code, "context_length_exceeded");
  reply.context_tokens_max.reset();
  EXPECT_EQ(api_error_of(reply).code, "resource_exhausted");
}

TEST(OpenAiError, params_are_those_of_the_route) {
  EXPECT_EQ(prompt_param_of("messages", "messages"), "messages");
  EXPECT_EQ(prompt_param_of("messages[1].role", "messages"), "messages[1].role");
  EXPECT_EQ(prompt_param_of("messages", "input"), "input");
  EXPECT_EQ(prompt_param_of("prompt_token_ids[7]", "prompt"), "prompt");
  EXPECT_EQ(prompt_param_of("prompt", "prompt"), "prompt");
  EXPECT_EQ(prompt_param_of("sampling.seed", "input"), "sampling.seed");
  const ApiError error = renamed(api_error(invalid_argument("messages", "is wrong")), "input");
  EXPECT_EQ(error.param, "input");
  EXPECT_EQ(error.message, "input: is wrong");
}

}  // namespace
}  // namespace cascade::openai
