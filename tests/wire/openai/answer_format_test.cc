// The names under which requests to this server and to others give the form of an answer.
#include "wire/openai/answer_format.h"

#include <gtest/gtest.h>

#include "wire/openai/chat.h"
#include "wire/openai/completions.h"
#include "wire/openai/responses.h"

namespace cascade::openai {
namespace {

using wire::Grammar;

// The grammar of a request, and the field that it comes from.
struct Held {
  std::optional<Grammar> grammar;
  std::string param;
};

std::vector<Held> held_by_each(const std::string& more) {
  std::vector<Held> held;
  const auto chat = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  const auto raw = decode_completion(R"({"prompt":"Hi",)" + more + "}");
  const auto response = decode_response(R"({"input":"Hi",)" + more + "}");
  EXPECT_TRUE(chat.ok() && raw.ok() && response.ok()) << more;
  if (!chat.ok() || !raw.ok() || !response.ok()) return held;
  return {{chat->request.grammar, chat->grammar_param},
          {raw->request.grammar, raw->grammar_param},
          {response->request.grammar, response->grammar_param}};
}

void expect_held(const std::string& more, GrammarKind kind, const std::string& schema,
                 const std::string& param) {
  for (const Held& held : held_by_each(more)) {
    ASSERT_TRUE(held.grammar) << more;
    EXPECT_EQ(held.grammar->kind, kind) << more;
    EXPECT_EQ(held.grammar->schema, schema) << more;
    EXPECT_EQ(held.param, param) << more;
  }
}

void expect_refused(const std::string& more, const std::string& param) {
  const auto chat = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],)" + more + "}");
  const auto raw = decode_completion(R"({"prompt":"Hi",)" + more + "}");
  const auto response = decode_response(R"({"input":"Hi",)" + more + "}");
  ASSERT_FALSE(chat.ok() || raw.ok() || response.ok()) << more;
  EXPECT_EQ(chat.error().field, param);
  EXPECT_EQ(raw.error().field, param);
  EXPECT_EQ(response.error().field, param);
}

TEST(OpenAiAnswerFormat, schemas_of_other_servers_are_held_to_by_each_face) {
  const std::string schema = R"({"type":"integer"})";
  for (const std::string field : {"json_schema", "guided_json", "format"}) {
    expect_held("\"" + field + "\":" + schema, GrammarKind::kJsonSchema, schema, field);
  }
  expect_held(R"("guided_json":"{\"type\":\"integer\"}")", GrammarKind::kJsonSchema, schema,
              "guided_json");
  expect_held(R"("structured_outputs":{"json":{"type":"integer"}})", GrammarKind::kJsonSchema,
              schema, "structured_outputs.json");
  for (const std::string field : {"json_schema", "guided_json"}) {
    expect_held("\"" + field + R"(":{"name":"n","strict":true,"schema":{"type":"integer"}})",
                GrammarKind::kJsonSchema, schema, field + ".schema");
  }
  expect_held(R"("text":{"format":{"type":"json_schema","name":"n","schema":{"type":"integer"}}})",
              GrammarKind::kJsonSchema, schema, "text.format.schema");
  expect_held(R"("response_format":{"type":"json_object","schema":{"type":"integer"}})",
              GrammarKind::kJsonSchema, schema, "response_format.schema");
  expect_held(R"("response_format":{"type":"json_schema","schema":{"type":"integer"}})",
              GrammarKind::kJsonSchema, schema, "response_format.schema");
}

TEST(OpenAiAnswerFormat, any_object_has_three_names) {
  expect_held(R"("format":"json")", GrammarKind::kJsonObject, "", "format");
  expect_held(R"("structured_outputs":{"json_object":true})", GrammarKind::kJsonObject, "",
              "structured_outputs.json_object");
  expect_held(R"("response_format":{"type":"json_object"})", GrammarKind::kJsonObject, "",
              "response_format");
}

TEST(OpenAiAnswerFormat, a_choice_is_one_of_its_texts) {
  const std::string parts = R"({"any_of":[{"text":"yes"},{"text":"no"}]})";
  expect_held(R"("guided_choice":["yes","no"])", GrammarKind::kParts, parts, "guided_choice");
  expect_held(R"("structured_outputs":{"choice":["yes","no"]})", GrammarKind::kParts, parts,
              "structured_outputs.choice");
}

TEST(OpenAiAnswerFormat, what_asks_for_nothing_is_taken) {
  for (const std::string more :
       {R"("format":"","grammar":"","json_schema":null)", R"("text":{"verbosity":"low"})",
        R"("structured_outputs":null,"guided_json":null,"guided_regex":"")",
        R"("response_format":{"type":"text"})"}) {
    for (const Held& held : held_by_each(more)) EXPECT_FALSE(held.grammar) << more;
  }
}

TEST(OpenAiAnswerFormat, what_cannot_be_held_to_is_refused_by_name) {
  for (const std::string field :
       {"grammar", "guided_grammar", "guided_regex", "structural_tag", "regex", "ebnf"}) {
    expect_refused("\"" + field + R"(":"root ::= \"a\"")", field);
  }
  expect_refused(R"("structured_outputs":{"regex":"a+"})", "structured_outputs.regex");
  expect_refused(R"("format":"xml")", "format");
  expect_refused(R"("guided_json":"{")", "guided_json");
  expect_refused(R"("guided_json":[])", "guided_json");
  expect_refused(R"("guided_choice":[])", "guided_choice");
  expect_refused(R"("guided_choice":[""])", "guided_choice");
  expect_refused(R"("guided_choice":"yes")", "guided_choice");
  for (const std::string none : {R"("json")", "{}", R"({"other":1})"}) {
    expect_refused("\"structured_outputs\":" + none, "structured_outputs");
  }
  expect_refused(R"("json_schema":5)", "json_schema");
  expect_refused(R"("stop_token_ids":[5])", "stop_token_ids");
  expect_refused(R"("min_tokens":5)", "min_tokens");
  expect_refused(R"("chat_template":"{{ x }}")", "chat_template");
}

TEST(OpenAiAnswerFormat, two_that_ask_for_different_things_are_refused) {
  expect_refused(R"("structured_outputs":{"json":{},"choice":["a"]})", "structured_outputs.choice");
  expect_refused(R"("text":{"format":{"type":"json_object"}},"format":"json")", "format");
  expect_refused(R"("guided_json":{},"format":"json")", "format");
  expect_refused(
      R"("response_format":{"type":"json_object"},"structured_outputs":{"choice":["a"]})",
      "structured_outputs.choice");
}

TEST(OpenAiAnswerFormat, calls_are_an_alternative_to_a_choice) {
  const auto call = decode_chat(
      R"({"messages":[{"role":"user","content":"Hi"}],"guided_choice":["yes"],
      "tools":[{"type":"function","function":{"name":"f"}}]})");
  ASSERT_TRUE(call.ok());
  const auto parts = parse_ordered_json(call->request.grammar->schema, "parts");
  EXPECT_EQ(parts->at("any_of")[0], OrderedJson::parse(R"({"any_of":[{"text":"yes"}]})"));
}

}  // namespace
}  // namespace cascade::openai
