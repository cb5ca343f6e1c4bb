// Calls of Qwen3-Coder and GLM, whose arguments are between tags.
#include "model/calls/tagged_body.h"

#include <gtest/gtest.h>

#include "tests/model/calls/calls_testing.h"

namespace cascade {
namespace {

using testing::kCallTools;
using testing::lines_of;

std::string qwen(const std::string& body) {
  return lines_of(read_qwen_tags(body, ToolTypes(kCallTools)));
}

std::string glm(const std::string& body) {
  return lines_of(read_glm_tags(body, ToolTypes(kCallTools)));
}

TEST(TaggedBody, values_of_qwen_are_between_line_ends) {
  EXPECT_EQ(qwen("<function=get><parameter=city>\n\n 3\n\n</parameter></function>"),
            R"({"name": "get", "arguments": {"city":"\n 3\n"}})");
  EXPECT_EQ(qwen("\n<function=now>\n</function>\n"), R"({"name": "now", "arguments": {}})");
  EXPECT_EQ(qwen("<function=other><parameter=a>{\"x\": [1]}</parameter></function>"),
            R"({"name": "other", "arguments": {"a":{"x":[1]}}})");
}

TEST(TaggedBody, missing_closing_tags_of_qwen_are_tolerated) {
  EXPECT_EQ(qwen("<function=get>\n<parameter=city>\nParis\n<parameter=days>\n3\n</function>"),
            R"({"name": "get", "arguments": {"city":"Paris","days":3}})");
  EXPECT_EQ(qwen("<function=get>\n<parameter=days>\n3\n</parameter>"),
            R"({"name": "get", "arguments": {"days":3}})");
  EXPECT_EQ(qwen("<function=get>\n<parameter=days>\n3"),
            R"({"name": "get", "arguments": {"days":3}})");
}

TEST(TaggedBody, a_closing_tag_within_a_value_is_its_text) {
  EXPECT_EQ(
      qwen("<function=f>\n<parameter=o>\n{\"x\": \"</parameter>\"}\n</parameter>\n</function>"),
      R"({"name": "f", "arguments": {"o":{"x":"</parameter>"}}})");
  EXPECT_EQ(
      qwen("<function=f><parameter=a>\n</parameter> b\n</parameter><parameter=c>1</parameter>"),
      R"({"name": "f", "arguments": {"a":"</parameter> b","c":1}})");
  EXPECT_EQ(glm("get<arg_key>city</arg_key><arg_value></arg_value> z</arg_value>\n<arg_key>days"
                "</arg_key><arg_value>1</arg_value>"),
            R"({"name": "get", "arguments": {"city":"</arg_value> z","days":1}})");
  EXPECT_EQ(glm("get<arg_key>city</arg_key><arg_value>a</arg_value> z"),
            R"({"name": "get", "arguments": {"city":"a"}})");
}

TEST(TaggedBody, qwen_may_write_several_functions_and_quoted_names) {
  EXPECT_EQ(qwen("<function=now>\n</function>\n<function=\"get\">\n<parameter='days'>\r\n3\r\n"
                 "</parameter>\n</function>"),
            "{\"name\": \"now\", \"arguments\": {}}\n"
            "{\"name\": \"get\", \"arguments\": {\"days\":3}}");
}

TEST(TaggedBody, values_of_glm_are_as_they_are) {
  EXPECT_EQ(glm("get<arg_key>city</arg_key><arg_value>\n3 \"</arg_value>"),
            R"({"name": "get", "arguments": {"city":"\n3 \""}})");
  EXPECT_EQ(glm("now\n"), R"({"name": "now", "arguments": {}})");
  EXPECT_EQ(glm("get\n<arg_key>days</arg_key>\n<arg_value>3"),
            R"({"name": "get", "arguments": {"days":3}})");
}

TEST(TaggedBody, other_texts_are_no_calls) {
  for (const char* body :
       {"", " ", "{}", "get", "<function=>", "<function", "text", "<parameter=a>"}) {
    EXPECT_EQ(qwen(body), "") << body;
  }
  for (const char* body : {"", " ", "{}", "other", " is a mark", "{\"name\":\"get\"}",
                           "<arg_key>a</arg_key>", "two words<arg_key>a</arg_key>"}) {
    EXPECT_EQ(glm(body), "") << body;
  }
}

TEST(TaggedBody, many_values_take_no_longer) {
  std::string body = "<function=f>";
  for (int i = 0; i < 20'000; ++i) body += "<parameter=a>v</parameter>x";
  EXPECT_EQ(qwen(body), R"({"name": "f", "arguments": {"a":"v"}})");
  std::string pairs = "get";
  for (int i = 0; i < 20'000; ++i) pairs += "<arg_key>a</arg_key><arg_value>v</arg_value>x";
  EXPECT_EQ(glm(pairs), R"({"name": "get", "arguments": {"a":"v"}})");
}

}  // namespace
}  // namespace cascade
