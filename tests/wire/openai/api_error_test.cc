// Errors of the API.
#include "wire/openai/api_error.h"

#include <gtest/gtest.h>

#include "base/utf8.h"
#include "wire/openai/chat.h"

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

}  // namespace
}  // namespace cascade::openai
