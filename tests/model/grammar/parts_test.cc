// Grammars that are composed of texts and documents, such as calls of tools.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/grammar/grammar_testing.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;

std::string refused(std::string_view text) {
  return testing::refusal(text, GrammarKind::kParts);
}

TEST(Parts, a_call_of_one_of_two_tools) {
  const auto call = [](const std::string& name, const std::string& schema) {
    return R"({"sequence": [{"text": "<tool_call>\n{\"name\": \")" + name +
           R"(\", \"arguments\": "}, {"json_schema": )" + schema +
           R"(}, {"text": "}\n</tool_call>"}]})";
  };
  const std::string tools =
      call("add", R"({"type": "object", "properties": {"a": {"type": "integer"}},
                      "required": ["a"]})") +
      "," + call("now", R"({"type": "object", "properties": {}, "additionalProperties": false})");
  const std::string choice = R"({"any_of": [)" + tools + "]}";
  testing::Accepting one(GrammarKind::kParts, choice);
  const std::string add =
      "<tool_call>\n{\"name\": \"add\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  const std::string now = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_TRUE(one.takes(add));
  EXPECT_TRUE(one.takes(now));
  EXPECT_FALSE(one.takes(add + "\n" + now));
  EXPECT_FALSE(one.begins("<tool_call>\n{\"name\": \"sub"));
  EXPECT_FALSE(one.begins("<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\""));

  testing::Accepting some(GrammarKind::kParts, R"({"repeat": )" + choice +
                                                   R"(, "min": 1, "max": 3, "separator": "\n"})");
  EXPECT_FALSE(some.takes(""));
  EXPECT_TRUE(some.takes(add));
  EXPECT_TRUE(some.takes(add + "\n" + now + "\n" + add));
  EXPECT_FALSE(some.takes(add + "\n" + now + "\n" + add + "\n" + now));
  EXPECT_FALSE(some.begins(add + add));
}

TEST(Parts, patterns_and_repetitions) {
  testing::Accepting list(GrammarKind::kParts,
                          R"({"sequence": [{"repeat": {"pattern": "^- [a-z\u00e9\"]+\n$"}},
                              {"text": "end"}]})");
  EXPECT_TRUE(list.takes("end"));
  EXPECT_TRUE(list.takes("- a\n- caf\xC3\xA9\"\nend"));
  EXPECT_FALSE(list.takes("- a\n"));
  testing::Accepting twice(GrammarKind::kParts, R"({"min": 2, "repeat": {"text": "a"}, "max": 2})");
  EXPECT_TRUE(twice.takes("aa"));
  EXPECT_FALSE(twice.takes("a"));
  EXPECT_FALSE(twice.begins("aaa"));
  testing::Accepting maybe(GrammarKind::kParts,
                           R"({"repeat": {"text": "a"}, "max": 2, "separator": ","})");
  EXPECT_TRUE(maybe.takes(""));
  EXPECT_TRUE(maybe.takes("a,a"));
  EXPECT_FALSE(maybe.begins("a,a,"));
}

TEST(Parts, a_schema_is_called_by_its_name_in_messages) {
  const std::string part =
      R"({"name": "tools[1].parameters", "json_schema": {"properties": {"a": {"if": true}}}})";
  EXPECT_EQ(refused(R"({"any_of": [{"text": "a"}, )" + part + "]}"),
            "tools[1].parameters#/properties/a: if: the keyword is not supported");
  EXPECT_EQ(refused(R"({"json_schema": true, "name": "x"})"), "");
  for (const std::string& name : {std::string("3"), '"' + std::string(201, 'x') + '"'}) {
    EXPECT_EQ(refused(R"({"json_schema": true, "name": )" + name + "}"),
              "#/json_schema: may have a name of at most 200 bytes beside it, and nothing else");
  }
  EXPECT_THAT(refused(R"({"json_schema": true, "title": "x"})"), HasSubstr("#/json_schema: may"));
}

TEST(Parts, are_refused_by_place) {
  EXPECT_THAT(refused(R"({"sequence": [{"text": "a"}, {"txt": "b"}]})"),
              HasSubstr("#/sequence/1/txt: must be text"));
  EXPECT_THAT(refused(R"({"any_of": []})"), HasSubstr("#/any_of: must be"));
  EXPECT_THAT(refused(R"({"text": ""})"), HasSubstr("#/text"));
  EXPECT_THAT(refused(R"({"text": "a", "pattern": "b"})"), HasSubstr("must have one member"));
  EXPECT_EQ(refused(R"({"sequence": [{"json_schema": {"items": {"if": {}}}}]})"),
            "#/sequence/0/json_schema/items: if: the keyword is not supported");
  EXPECT_THAT(refused(R"({"repeat": {"text": "a"}, "min": 2, "max": 1})"), HasSubstr("#/repeat"));
  EXPECT_THAT(refused(R"({"repeat": {"text": "a"}, "times": 1})"), HasSubstr("#/repeat"));
  EXPECT_THAT(refused(R"x({"repeat": {"pattern": "^a*$"}, "min": 3})x"), HasSubstr("may be empty"));
  EXPECT_THAT(refused("[]"), HasSubstr("must be an object"));
  EXPECT_THAT(refused("{}"), HasSubstr("must be an object"));
}

}  // namespace
}  // namespace cascade
