// Calls of Mistral, Granite 3 and Llama 3.
#include "model/calls/json_body.h"

#include <gtest/gtest.h>

#include "model/mark_bytes.h"
#include "tests/model/calls/calls_testing.h"

namespace cascade {
namespace {

using testing::kCallTools;
using testing::lines_of;

// With `~` before marks that are tokens.
std::string mistral(std::string body) {
  for (size_t at; (at = body.find('~')) != body.npos;) body[at] = kMarkByte;
  return lines_of(read_mistral(body));
}

std::string llama3(const std::string& body) {
  return lines_of(read_llama3(body, ToolTypes(kCallTools)));
}

TEST(MistralBody, all_ages_of_the_form_are_read) {
  const std::string call = R"({"name": "get", "arguments": {"a":1}})";
  for (const char* body :
       {R"(get~[ARGS]{"a":1})", R"(get[ARGS]{"a":1})", R"(get~[CALL_ID]abc123def~[ARGS]{"a":1})",
        R"(get[CALL_ID]abc123def[ARGS]{"a":1})", R"( get {"a":1})",
        R"([{"name":"get","arguments":{"a":1}}])",
        R"( [{"name": "get", "arguments": {"a": 1}, "id": "abc123def"}])",
        R"({"name":"get","arguments":"{\"a\":1}"})"}) {
    EXPECT_EQ(mistral(body), call) << body;
  }
  EXPECT_EQ(mistral(R"([{"name":"f","arguments":{}},{"name":"get"}])"),
            "{\"name\": \"f\", \"arguments\": {}}\n{\"name\": \"get\", \"arguments\": {}}");
}

TEST(MistralBody, a_parameter_may_have_any_name_and_text) {
  EXPECT_EQ(mistral(R"(f[ARGS]{"name": "x", "arguments": "[ARGS]{"})"),
            R"({"name": "f", "arguments": {"name": "x", "arguments": "[ARGS]{"}})");
}

TEST(MistralBody, damaged_arguments_are_a_string) {
  EXPECT_EQ(mistral(R"(f~[ARGS]{"a":)"), R"({"name": "f", "arguments": "{\"a\":"})");
  EXPECT_EQ(mistral(R"(f~[ARGS]{a b} c)"), R"({"name": "f", "arguments": "{a b} c"})");
  for (const char* body : {"", " ", "f", "f~[ARGS]", "~[ARGS]{}", "{}", "[]", "[7]",
                           "[{\"name\":7}]", "two words {}"}) {
    EXPECT_EQ(mistral(body), "") << body;
  }
}

TEST(MistralBody, missing_brackets_and_other_quotes_are_tolerated) {
  const std::string call = R"({"name": "f", "arguments": {"a":"x"}})";
  for (const char* body : {R"(f~[ARGS]{"a": "x")", R"(f~[ARGS]{"a": "x)", R"(f~[ARGS]{'a': 'x',})",
                           R"([{"name": "f", "arguments": {"a": "x"}})",
                           R"([{"name": "f", "arguments": {"a": "x"}},])",
                           R"({"name": "f", "parameters": {"a": "x")"}) {
    EXPECT_EQ(mistral(body), call) << body;
  }
  EXPECT_EQ(mistral("f~[ARGS]{\"a\": \"two\nlines\"}"),
            R"({"name": "f", "arguments": {"a":"two\nlines"}})");
}

TEST(Llama3Body, a_call_has_a_known_name_and_arguments) {
  const std::string call = R"({"name": "get", "arguments": {"a":1}})";
  for (const char* body :
       {R"({"name": "get", "parameters": {"a": 1}})", R"({"name":"get","arguments":{"a":1}})",
        R"({"type": "function", "name": "get", "parameters": {"a": 1}})", "get.call(a=1)"}) {
    EXPECT_EQ(llama3(body), call) << body;
  }
  for (const char* body :
       {R"({"name": "other", "parameters": {}})", R"({"name": "get"})", "{}", "[]", "", "print(1)",
        "other.call(a=1)", R"({"name": 7, "parameters": {}})"}) {
    EXPECT_EQ(llama3(body), "") << body;
  }
}

TEST(CallList, null_and_missing_arguments_are_none) {
  EXPECT_EQ(lines_of(read_call_list(R"({"name":"f","arguments":null})")),
            R"({"name": "f", "arguments": {}})");
  EXPECT_EQ(lines_of(read_call_list(R"([{"name":"f","parameters":[1]}])")),
            R"({"name": "f", "arguments": [1]})");
}

}  // namespace
}  // namespace cascade
