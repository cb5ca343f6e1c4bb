// Answers of a given form, asked for with cascadectl: each answer that ends is valid, whatever the
// question.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "tests/long_tests.h"
#include "tests/model/grammar/schema_validator.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using testing::DaemonProcess;
using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::run_program;
using testing::ScratchDir;

constexpr char kPerson[] = R"({"type": "object", "properties": {
    "name": {"type": "string", "minLength": 1, "maxLength": 20},
    "born": {"type": "string", "format": "date"},
    "age": {"type": "integer", "minimum": 0, "maximum": 120},
    "share": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "kind": {"enum": ["friend", "foe", null]},
    "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]{3}$"},
    "parents": {"type": "array", "items": {"$ref": "#"}, "maxItems": 2},
    "note": {"anyOf": [{"type": "boolean"}, {"type": "object", "additionalProperties":
        {"type": "integer"}}]}},
    "required": ["name", "age", "kind", "code"], "additionalProperties": false})";

class GrammarSystem : public ::testing::Test {
 protected:
  GrammarSystem() : daemon_(scratch_.path() / "run", "", scratch_.path() / "state") {
    EXPECT_TRUE(daemon_.serving()) << daemon_.log();
  }
  std::string file(const std::string& name, const std::string& text) const {
    const std::string path = scratch_.path() / name;
    std::ofstream(path) << text;
    return path;
  }
  ProgramResult generate(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "generate");
    arguments.insert(arguments.end(), {"--endpoint", daemon_.endpoint()});
    return run_program("cascadectl", arguments);
  }
  // The answers to `count` questions, one JSON object a line.
  std::vector<Json> answers(int count, const std::vector<std::string>& form, bool think) const {
    std::string questions;
    for (int i = 0; i < count; ++i) {
      questions += R"({"query": "Describe person number )" + std::to_string(i) +
                   R"(", "sampling": {"seed": )" + std::to_string(i) + "}}\n";
    }
    std::vector<std::string> arguments = {"--batch",       file("questions", questions),
                                          "--json",        think ? "--think" : "--no-think",
                                          "--temperature", "1.5",
                                          "--top-p",       "1",
                                          "--top-k",       "0",
                                          "--max-tokens",  "300"};
    arguments.insert(arguments.end(), form.begin(), form.end());
    const ProgramResult result = generate(arguments);
    std::vector<Json> all;
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) all.push_back(Json::parse(line));
    EXPECT_EQ(all.size(), static_cast<size_t>(count));
    const bool cut = std::ranges::any_of(
        all, [](const Json& answer) { return answer["finish_reason"] == "length"; });
    EXPECT_EQ(result.exit_code, cut ? 4 : 0) << result.err;
    return all;
  }

  const ScratchDir scratch_;
  const DaemonProcess daemon_;
};

// Returns how many answers ended. Each of them must be a document that satisfies the schema.
int expect_documents(const std::vector<Json>& answers, const OrderedJson& schema) {
  int ended = 0;
  for (const Json& answer : answers) {
    if (answer["finish_reason"] == "length") continue;
    EXPECT_EQ(answer["finish_reason"], "stop");
    const auto document = parse_json(std::string(answer["text"]), "text");
    EXPECT_TRUE(document.ok()) << answer["text"];
    if (document.ok()) {
      EXPECT_EQ(testing::violation(*document, schema), "") << answer["text"];
    }
    ++ended;
  }
  return ended;
}

TEST_F(GrammarSystem, answers_that_end_are_documents_for_which_the_schema_holds) {
  const OrderedJson schema = OrderedJson::parse(kPerson);
  const std::string path = file("schema.json", kPerson);
  const int count = testing::long_or(40, 16);
  EXPECT_GT(expect_documents(answers(count, {"--json-schema", path}, false), schema),
            testing::long_or(15, 2));
  expect_documents(answers(count, {"--json-schema", path}, true), schema);
}

// Few of these answers end.
TEST_F(GrammarSystem, answers_of_any_form_that_end_are_objects) {
  const OrderedJson object = {{"type", "object"}};
  EXPECT_GT(expect_documents(answers(40, {"--json-object"}, false), object), 0);
}

TEST_F(GrammarSystem, a_call_of_a_tool) {
  const std::string parts = file("call.json", R"({"sequence": [
      {"text": "<tool_call>\n{\"name\": \"add\", \"arguments\": "},
      {"json_schema": {"type": "object", "properties": {"a": {"type": "integer"},
       "b": {"type": "integer"}}, "required": ["a", "b"], "additionalProperties": false}},
      {"text": "}\n</tool_call>"}]})");
  const ProgramResult result = generate({"--grammar", parts, "--no-think", "What is 3 + 4?"});
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, ::testing::MatchesRegex(
                              "<tool_call>\n\\{\"name\": \"add\", \"arguments\": \\{[ \n]*\"a\":"
                              "[ \n]*-?[0-9]+,[ \n]*\"b\":[ \n]*-?[0-9]+[ \n]*\\}\\}\n"
                              "</tool_call>\n"));
}

TEST_F(GrammarSystem, a_schema_that_is_not_supported_is_refused_by_its_place) {
  const std::string path = file("schema.json", R"({"items": {"if": {}}})");
  const ProgramResult refused = generate({"--json-schema", path, "x"});
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.err,
            "error: invalid_argument: --json-schema or --grammar: #/items: if: the keyword is "
            "not supported\n");
  EXPECT_EQ(generate({"--json-schema", scratch_.path() / "none", "x"}).exit_code, 2);
  EXPECT_EQ(generate({"--json-schema", path, "--json-object", "x"}).exit_code, 2);
  const ProgramResult endless = generate({"--json-object", "--ignore-eos", "x"});
  EXPECT_EQ(endless.exit_code, 2);
  EXPECT_THAT(endless.err, HasSubstr("--ignore-eos: cannot be set with --json-schema"));
}

}  // namespace
}  // namespace cascade
