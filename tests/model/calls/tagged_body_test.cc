// Calls in the forms of Qwen3-Coder and GLM, whole and in pieces.
#include "model/tagged_calls.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/tool_call_parser.h"
#include "model/call_history.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr std::string_view kTools = R"([{"function":{"name":"get","parameters":{"properties":{
    "city":{"type":"string"},"days":{"type":"integer"}}}}}, {"function":{"name":"now"}}])";

const std::string kQwen =
    "<tool_call>\n<function=get>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n"
    "</parameter>\n</function>\n</tool_call>";
const std::string kGlm =
    "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days</arg_key>"
    "\n<arg_value>3</arg_value>\n</tool_call>";
const std::string kCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": "
    "{\"city\":\"Paris\",\"days\":3}}\n</tool_call>";

// What becomes of an answer, in random pieces if `random` is given.
std::string changed(CallForm form, const std::string& answer, bool ended = true,
                    Random* random = nullptr) {
  TaggedCalls calls(form, ToolTypes(kTools));
  std::string out;
  const auto add = [&](const std::vector<TaggedCalls::Piece>& pieces) {
    for (const TaggedCalls::Piece& piece : pieces) out += piece.text;
  };
  for (size_t at = 0; at < answer.size();) {
    const size_t n = random == nullptr ? answer.size() : 1 + random->below(answer.size() - at);
    add(calls.push(std::string_view(answer).substr(at, n)));
    at += n;
  }
  add(calls.finish(ended));
  return out;
}

// The calls in a body, one a line.
std::string calls_of(CallForm form, const std::string& body) {
  std::string text;
  for (const std::string& call : read_tagged_calls(form, body, ToolTypes(kTools))) {
    text += (text.empty() ? "" : "\n") + call;
  }
  return text;
}

std::string qwen(const std::string& body) {
  return calls_of(CallForm::kQwenTags, body);
}

std::string glm(const std::string& body) {
  return calls_of(CallForm::kGlmTags, body);
}

TEST(TaggedCalls, values_of_qwen_are_between_line_ends) {
  EXPECT_EQ(qwen("<function=get><parameter=city>\n\n 3\n\n</parameter></function>"),
            R"({"name": "get", "arguments": {"city":"\n 3\n"}})");
  EXPECT_EQ(qwen("\n<function=now>\n</function>\n"), R"({"name": "now", "arguments": {}})");
  EXPECT_EQ(qwen("<function=other><parameter=a>{\"x\": [1]}</parameter></function>"),
            R"({"name": "other", "arguments": {"a":{"x":[1]}}})");
}

TEST(TaggedCalls, missing_closing_tags_of_qwen_are_tolerated) {
  EXPECT_EQ(qwen("<function=get>\n<parameter=city>\nParis\n<parameter=days>\n3\n</function>"),
            R"({"name": "get", "arguments": {"city":"Paris","days":3}})");
  EXPECT_EQ(qwen("<function=get>\n<parameter=days>\n3\n</parameter>"),
            R"({"name": "get", "arguments": {"days":3}})");
  EXPECT_EQ(qwen("<function=get>\n<parameter=days>\n3"),
            R"({"name": "get", "arguments": {"days":3}})");
}

TEST(TaggedCalls, a_closing_tag_within_a_value_is_its_text) {
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

TEST(TaggedCalls, qwen_may_write_several_functions_and_quoted_names) {
  EXPECT_EQ(qwen("<function=now>\n</function>\n<function=\"get\">\n<parameter='days'>\r\n3\r\n"
                 "</parameter>\n</function>"),
            "{\"name\": \"now\", \"arguments\": {}}\n"
            "{\"name\": \"get\", \"arguments\": {\"days\":3}}");
  EXPECT_EQ(changed(CallForm::kQwenTags,
                    "<tool_call><function=now></function><function=now>"
                    "</function></tool_call>"),
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
}

TEST(TaggedCalls, values_of_glm_are_as_they_are) {
  EXPECT_EQ(glm("get<arg_key>city</arg_key><arg_value>\n3 \"</arg_value>"),
            R"({"name": "get", "arguments": {"city":"\n3 \""}})");
  EXPECT_EQ(glm("now\n"), R"({"name": "now", "arguments": {}})");
  EXPECT_EQ(glm("get\n<arg_key>days</arg_key>\n<arg_value>3"),
            R"({"name": "get", "arguments": {"days":3}})");
}

TEST(TaggedCalls, other_texts_are_no_calls) {
  for (const char* body :
       {"", " ", "{}", "get", "<function=>", "<function", "text", "<parameter=a>"}) {
    EXPECT_EQ(qwen(body), "") << body;
  }
  for (const char* body : {"", " ", "{}", "other", " is a mark", "{\"name\":\"get\"}",
                           "<arg_key>a</arg_key>", "two words<arg_key>a</arg_key>"}) {
    EXPECT_EQ(glm(body), "") << body;
  }
}

TEST(TaggedCalls, calls_in_an_answer_get_the_common_form_however_it_is_cut_into_pieces) {
  Random random(testing::test_seed());
  for (const auto& [form, call] :
       {std::pair(CallForm::kQwenTags, kQwen), {CallForm::kGlmTags, kGlm}}) {
    const std::string answer = "I <look>.\n\n" + call + "\n" + call + " <tool_call> <tool_";
    const std::string expected = "I <look>.\n\n" + kCall + "\n" + kCall + " <tool_call> <tool_";
    EXPECT_EQ(changed(form, answer), expected);
    for (int round = 0; round < 50; ++round)
      EXPECT_EQ(changed(form, answer, true, &random), expected);
    // A call in the common form stays as it is.
    EXPECT_EQ(changed(form, kCall + "x", true, &random), kCall + "x");
  }
}

TEST(TaggedCalls, marks_within_values_are_their_text) {
  const std::string inner = "</tool_call><tool_call>";
  const std::string answer = "<tool_call>\n<function=get>\n<parameter=city>\n" + inner +
                             "\n</parameter>\n</function>\n</tool_call>";
  EXPECT_EQ(changed(CallForm::kQwenTags, answer),
            "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\":\"" + inner +
                "\"}}\n</tool_call>");
  const std::string other =
      "<tool_call>get<arg_key>city</arg_key><arg_value>" + inner + "</arg_value></tool_call>";
  EXPECT_EQ(changed(CallForm::kGlmTags, other),
            "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\":\"" + inner +
                "\"}}\n</tool_call>");
}

// Wherever an answer is cut, a call is whole, or half a call in the common form, or text before it.
TEST(TaggedCalls, an_answer_that_is_cut_has_no_half_call_as_text) {
  for (const auto& [form, call] :
       {std::pair(CallForm::kQwenTags, kQwen), {CallForm::kGlmTags, kGlm}}) {
    for (size_t size = 12; size < call.size(); ++size) {
      const std::string cut = changed(form, call.substr(0, size), /*ended=*/false);
      EXPECT_EQ(cut, "<tool_call>\n{") << call.substr(0, size);
      EXPECT_TRUE(ends_in_half_call(cut, /*cut=*/true));
    }
    // If the answer ended by itself, only marks may be missing.
    EXPECT_EQ(changed(form, call.substr(0, call.size() - 12)), kCall);
    EXPECT_EQ(changed(form, call.substr(0, call.size() - 5)), kCall);
  }
  for (const char* cut : {"<tool_call>now", "<tool_call>now\n</tool", "<tool_call>now</t"}) {
    EXPECT_EQ(changed(CallForm::kGlmTags, cut, /*ended=*/false), "<tool_call>\n{") << cut;
  }
  EXPECT_EQ(changed(CallForm::kGlmTags, "<tool_call>now"),
            "<tool_call>\n{\"name\": \"now\", "
            "\"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(changed(CallForm::kGlmTags, "<tool_call>hello"), "<tool_call>hello");
}

TEST(TaggedCalls, many_calls_that_never_end_take_no_longer) {
  std::string answer;
  for (int i = 0; i < 40'000; ++i) answer += "<tool_call><parameter=</tool_call>";
  TaggedCalls calls(CallForm::kQwenTags, ToolTypes(kTools));
  std::string out;
  for (size_t at = 0; at < answer.size(); at += 5) {
    for (const auto& piece : calls.push(answer.substr(at, 5))) out += piece.text;
  }
  for (const auto& piece : calls.finish(true)) out += piece.text;
  EXPECT_TRUE(out == answer);
}

TEST(TaggedCalls, many_values_take_no_longer) {
  std::string body = "<function=f>";
  for (int i = 0; i < 20'000; ++i) body += "<parameter=a>v</parameter>x";
  EXPECT_EQ(qwen(body), R"({"name": "f", "arguments": {"a":"v"}})");
  std::string pairs = "get";
  for (int i = 0; i < 20'000; ++i) pairs += "<arg_key>a</arg_key><arg_value>v</arg_value>x";
  EXPECT_EQ(glm(pairs), R"({"name": "get", "arguments": {"a":"v"}})");
}

TEST(CallHistory, calls_in_a_content_become_calls_of_the_message) {
  OrderedJson message = {{"role", "assistant"}, {"content", "I look.\n\n" + kCall + "\n" + kCall}};
  calls_from_content(message);
  EXPECT_EQ(message["content"], "I look.");
  ASSERT_EQ(message["tool_calls"].size(), 2u);
  EXPECT_EQ(message["tool_calls"][1]["function"],
            (OrderedJson{{"name", "get"}, {"arguments", R"({"city":"Paris","days":3})"}}));
  const OrderedJson before = message;
  calls_from_content(message);
  EXPECT_EQ(message, before);
  for (const char* content : {"", "a <tool_call> b", "x"}) {
    OrderedJson plain = {{"role", "assistant"}, {"content", content}};
    const OrderedJson same = plain;
    calls_from_content(plain);
    EXPECT_EQ(plain, same);
  }
}

}  // namespace
}  // namespace cascade
