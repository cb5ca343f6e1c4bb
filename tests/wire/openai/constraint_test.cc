// response_format, text.format and tool_choice become grammars.
#include "wire/openai/constraint.h"

#include <gtest/gtest.h>

#include "wire/openai/chat.h"
#include "wire/openai/responses.h"

namespace cascade::openai {
namespace {

const std::string kTools =
    R"(,"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object",
    "properties":{"x":{"type":"integer"}},"required":["x"]}}},
    {"type":"function","function":{"name":"say \"g\""}}])";

Result<ChatCall> chat_with(const std::string& more) {
  return decode_chat(R"({"messages":[{"role":"user","content":"Hi"}])" + more + "}");
}

std::optional<wire::Grammar> grammar_of(const std::string& more) {
  const auto call = chat_with(more);
  EXPECT_TRUE(call.ok()) << more << call.error().to_string();
  return call.ok() ? call->request.grammar : std::nullopt;
}

OrderedJson parts_of(const std::string& more) {
  const auto grammar = grammar_of(more);
  EXPECT_TRUE(grammar && grammar->kind == GrammarKind::kParts) << more;
  const auto json = parse_ordered_json(grammar ? grammar->schema : "null", "parts");
  return json.ok() ? *json : OrderedJson();
}

// The functions that a part of calls may call.
std::vector<std::string> calls_in(const OrderedJson& part) {
  std::vector<std::string> names;
  for (const OrderedJson& call : part.at("tool_calls")) names.push_back(call["name"]);
  return names;
}

TEST(OpenAiConstraint, an_answer_without_a_format_is_free) {
  EXPECT_FALSE(grammar_of(""));
  EXPECT_FALSE(grammar_of(R"(,"response_format":{"type":"text"})"));
  EXPECT_FALSE(grammar_of(kTools));
  EXPECT_FALSE(grammar_of(kTools + R"(,"tool_choice":"auto")"));
  EXPECT_FALSE(grammar_of(kTools + R"(,"tool_choice":"none")"));
}

TEST(OpenAiConstraint, a_format_becomes_a_grammar) {
  const auto object = grammar_of(R"(,"response_format":{"type":"json_object"})");
  ASSERT_TRUE(object);
  EXPECT_EQ(object->kind, GrammarKind::kJsonObject);
  EXPECT_EQ(object->schema, "");
  const auto schema = grammar_of(
      R"(,"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,
      "schema":{"type":"object","properties":{"b":{},"a":{}}}}})");
  ASSERT_TRUE(schema);
  EXPECT_EQ(schema->kind, GrammarKind::kJsonSchema);
  EXPECT_EQ(schema->schema, R"({"type":"object","properties":{"b":{},"a":{}}})");
  const auto response = decode_response(
      R"({"input":"Hi","text":{"format":{"type":"json_schema","name":"n",
      "schema":{"type":"null"}}}})");
  ASSERT_TRUE(response.ok()) << response.error().to_string();
  ASSERT_TRUE(response->request.grammar);
  EXPECT_EQ(response->request.grammar->schema, R"({"type":"null"})");
  EXPECT_EQ(response->grammar_param, "text.format.schema");
}

TEST(OpenAiConstraint, a_demanded_call_is_the_whole_answer) {
  const OrderedJson any = parts_of(kTools + R"(,"tool_choice":"required")");
  EXPECT_EQ(calls_in(any), (std::vector<std::string>{"f", "say \"g\""}));
  EXPECT_FALSE(any.contains("max"));
  const OrderedJson& calls = any.at("tool_calls");
  EXPECT_EQ(calls[0]["parameters"]["required"], OrderedJson::array({"x"}));
  EXPECT_EQ(calls[0]["schema_name"], "tools[0].function.parameters");
  EXPECT_EQ(calls[1]["parameters"], (OrderedJson{{"type", "object"}}));
  const OrderedJson one =
      parts_of(kTools + R"(,"tool_choice":"required","parallel_tool_calls":false)");
  EXPECT_EQ(calls_in(one).size(), 2u);
  EXPECT_EQ(one.at("max"), 1);
}

TEST(OpenAiConstraint, a_named_function_is_called_once) {
  const std::string choice = R"(,"tool_choice":{"type":"function","function":{"name":"f"}})";
  const OrderedJson named = parts_of(kTools + choice);
  EXPECT_EQ(calls_in(named), std::vector<std::string>{"f"});
  EXPECT_EQ(named.at("max"), 1);
  const auto unknown =
      chat_with(kTools + R"(,"tool_choice":{"type":"function","function":{"name":"h"}})");
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.error().field, "tool_choice");
  const auto without = chat_with(R"(,"tool_choice":"required")");
  ASSERT_FALSE(without.ok());
  EXPECT_EQ(without.error().field, "tool_choice");
}

TEST(OpenAiConstraint, with_tools_and_a_format_the_answer_is_either) {
  const OrderedJson either = parts_of(kTools + R"(,"response_format":{"type":"json_object"})");
  ASSERT_EQ(either.at("any_of").size(), 2u);
  EXPECT_EQ(either["any_of"][0]["json_schema"], (OrderedJson{{"type", "object"}}));
  EXPECT_EQ(calls_in(either["any_of"][1]).size(), 2u);
}

TEST(OpenAiConstraint, errors_name_the_field_that_asked) {
  const auto ignoring = chat_with(R"(,"ignore_eos":true,"response_format":{"type":"json_object"})");
  ASSERT_FALSE(ignoring.ok());
  EXPECT_EQ(ignoring.error().field, "ignore_eos");
  const std::string large(kGrammarBytesMax, 'x');
  const auto format = chat_with(R"(,"response_format":{"type":"json_schema","json_schema":{
      "schema":{"const":")" + large +
                                R"("}}})");
  ASSERT_FALSE(format.ok());
  EXPECT_EQ(format.error().field, "response_format.json_schema.schema");
  const auto tools = chat_with(R"(,"tool_choice":"required","tools":[{"type":"function",
      "function":{"name":"f","parameters":{"const":")" +
                               large + R"("}}}])");
  ASSERT_FALSE(tools.ok());
  EXPECT_EQ(tools.error().field, "tools");
  for (const std::string wrong : {R"("json")", R"({"type":"xml"})", R"({"type":"json_schema"})",
                                  R"({"type":"json_schema","json_schema":{"schema":3}})"}) {
    const auto call = chat_with(R"(,"response_format":)" + wrong);
    ASSERT_FALSE(call.ok()) << wrong;
    EXPECT_TRUE(call.error().field.starts_with("response_format")) << call.error().field;
  }
}

// The API's error for an error of the daemon whose field is grammar.schema.
ApiError schema_error(const std::string& message, const std::string& grammar_param) {
  return grammar_error(api_error(invalid_argument("grammar.schema", message)), grammar_param);
}

TEST(OpenAiConstraint, errors_in_a_schema_have_the_path_that_the_client_wrote) {
  const ApiError own =
      schema_error("#/properties/age: not: no", "response_format.json_schema.schema");
  EXPECT_EQ(own.param, "response_format.json_schema.schema");
  EXPECT_EQ(own.message, "response_format.json_schema.schema#/properties/age: not: no");
  const ApiError named =
      schema_error("tools[3].function.parameters#/properties/age: not: no", "response_format");
  EXPECT_EQ(named.param, "tools[3].function.parameters");
  EXPECT_EQ(named.message, "tools[3].function.parameters#/properties/age: not: no");
  const ApiError whole = schema_error("is too large: see #1", "tools");
  EXPECT_EQ(whole.param, "tools");
  EXPECT_TRUE(whole.message.starts_with("tools: is too large: see #1; ")) << whole.message;
}

TEST(OpenAiConstraint, tools_that_are_too_much_are_told_what_to_do) {
  const std::string advice = "give fewer or smaller tools, or tool_choice auto";
  for (const char* message :
       {"is too large: the limit is 100000 nodes",
        "has 2000000 bytes, more than the limit of 1048576",
        "tools[7].function.parameters#/properties/x: the schema is too large: "
        "up to here it takes more than the limit of 100000 nodes"}) {
    const std::string told = schema_error(message, "tools").message;
    EXPECT_NE(told.find(message), std::string::npos) << told;
    EXPECT_NE(told.find(advice), std::string::npos) << told;
    EXPECT_EQ(schema_error(message, "response_format").message.find(advice), std::string::npos);
  }
  EXPECT_EQ(schema_error("tools[7].function.parameters#: not: no", "tools").message,
            "tools[7].function.parameters#: not: no");
}

TEST(OpenAiConstraint, annotations_do_not_count) {
  const std::string long_text(kGrammarBytesMax / 2, 'x');
  const std::string said = R"({"type":"string","description":")" + long_text + R"("})";
  const auto format =
      grammar_of(R"(,"response_format":{"type":"json_schema","json_schema":{"schema":{
      "$schema":"u","title":"t","type":"object","properties":{"a":)" +
                 said + R"(,"b":{"anyOf":[)" + said + R"(,{"const":1}]}},"examples":[1]}}})");
  ASSERT_TRUE(format);
  EXPECT_EQ(format->schema, R"({"type":"object","properties":{"a":{"type":"string"},)"
                            R"("b":{"anyOf":[{"type":"string"},{"const":1}]}}})");
  const OrderedJson tools = parts_of(R"(,"tool_choice":"required","tools":[{"type":"function",
      "function":{"name":"f","description":"d","parameters":{"type":"object","title":"t",
      "properties":{"title":{"title":"x"}}}}}])");
  EXPECT_EQ(tools["tool_calls"][0]["parameters"],
            parse_ordered_json(R"({"type":"object","properties":{"title":{}}})", "schema").value());
}

TEST(OpenAiConstraint, schemas_of_several_tools_and_a_format_are_named_each) {
  const OrderedJson either =
      parts_of(kTools + R"(,"response_format":{"type":"json_schema","json_schema":{"schema":{}}})");
  EXPECT_EQ(either["any_of"][0]["name"], "response_format.json_schema.schema");
  const OrderedJson& calls = either["any_of"][1]["tool_calls"];
  EXPECT_EQ(calls[1]["schema_name"], "tools[1].function.parameters");
  const auto response = decode_response(
      R"({"input":"Hi","tool_choice":"required","tools":[{"type":"function","name":"f"}]})");
  ASSERT_TRUE(response.ok());
  EXPECT_NE(response->request.grammar->schema.find(R"("schema_name":"tools[0].parameters")"),
            std::string::npos);
}

}  // namespace
}  // namespace cascade::openai
