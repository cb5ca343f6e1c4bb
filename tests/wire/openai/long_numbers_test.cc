// Numbers beyond 64 bits keep their digits wherever a request is written again.
#include <gtest/gtest.h>

#include "wire/openai/chat.h"
#include "wire/openai/json_text.h"
#include "wire/openai/responses.h"
#include "wire/openai/tools.h"

namespace cascade::openai {
namespace {

const std::string kLarge = "123456789012345678901234567890";
const std::string kTool =
    R"({"name":"f","parameters":{"type":"object","properties":{"x":{"type":"integer","maximum":)" +
    kLarge + "}}}}";

bool has_number(const std::string& text) {
  return text.find(":" + kLarge) != std::string::npos;
}

TEST(OpenAiLongNumbers, chat_completions) {
  const auto call = decode_chat(
      R"({"messages":[{"role":"user","content":"Hi"},{"role":"assistant","tool_calls":[{"id":"c",
      "type":"function","function":{"name":"f","arguments":"{\"x\":)" +
      kLarge + R"(}"}}]},{"role":"tool","tool_call_id":"c","content":"1"}],"tool_choice":"required",
      "chat_template_kwargs":{},"tools":[{"type":"function","function":)" +
      kTool + "}]}");
  ASSERT_TRUE(call.ok()) << call.error().to_string();
  EXPECT_TRUE(has_number(call->request.tools)) << call->request.tools;
  EXPECT_TRUE(has_number(call->request.grammar->schema)) << call->request.grammar->schema;
  EXPECT_NE(call->request.messages[1].tool_calls.find(kLarge), std::string::npos);
  const auto format = decode_chat(
      R"({"messages":[{"role":"user","content":"Hi"}],"response_format":{"type":"json_schema",
      "json_schema":{"name":"n","schema":{"enum":[{"x":)" +
      kLarge + "}]}}}}");
  ASSERT_TRUE(format.ok()) << format.error().to_string();
  EXPECT_TRUE(has_number(format->request.grammar->schema));
}

TEST(OpenAiLongNumbers, responses) {
  const auto call =
      decode_response(R"({"input":"Hi","tools":[{"type":"function",)" + kTool.substr(1) + "]}");
  ASSERT_TRUE(call.ok()) << call.error().to_string();
  EXPECT_TRUE(has_number(call->request.tools)) << call->request.tools;
  EXPECT_TRUE(has_number(json_text(call->echo))) << json_text(call->echo);
}

TEST(OpenAiLongNumbers, calls_that_a_model_writes) {
  ToolCallParser parser(/*parallel=*/true);
  const auto parts = parser.push("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\":" + kLarge +
                                 "}}\n</tool_call>");
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].calls.size(), 1u);
  EXPECT_TRUE(has_number(parts[0].calls[0].arguments)) << parts[0].calls[0].arguments;
}

TEST(OpenAiLongNumbers, fields_that_want_a_number_take_them_for_one) {
  const auto field = [](const std::string& more) {
    const auto call = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
    return call.ok() ? "" : call.error().field + ": " + call.error().message;
  };
  EXPECT_EQ(field("\"max_tokens\":" + kLarge).substr(0, 35), "max_tokens: must be a whole number ");
  EXPECT_EQ(field("\"temperature\":1e400"), "temperature: is too large a number");
  EXPECT_EQ(field("\"model\":" + kLarge), "model: must be a string, got number");
  EXPECT_EQ(field("\"metadata\":{\"a\":" + std::string(1025, '1') + "}"),
            "body: has a number of more than 1024 characters");
}

}  // namespace
}  // namespace cascade::openai
