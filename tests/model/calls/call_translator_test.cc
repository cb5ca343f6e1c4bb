// Calls in an answer, in every form that models write, whole and in pieces.
#include "model/calls/call_translator.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/tool_call_parser.h"
#include "model/mark_bytes.h"
#include "tests/model/calls/calls_testing.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::kCallTools;
using testing::kGetCall;

// A form with its call of get("Paris", 3) and what is between two calls. `~` is before marks that
// may be special tokens.
struct Written {
  CallForm form;
  std::string call, between;
};

const std::vector<Written> kForms = {
    {CallForm::kQwenTags,
     "<tool_call>\n<function=get>\n<parameter=city>\nParis\n</parameter>\n<parameter=days>\n3\n"
     "</parameter>\n</function>\n</tool_call>",
     "\n"},
    {CallForm::kGlmTags,
     "<tool_call>get\n<arg_key>city</arg_key>\n<arg_value>Paris</arg_value>\n<arg_key>days"
     "</arg_key>\n<arg_value>3</arg_value>\n</tool_call>",
     "\n"},
    {CallForm::kGemma, "~<|tool_call>call:get{city:~<|\"|>Paris~<|\"|>,days:3}~<tool_call|>", ""},
    {CallForm::kMistral, "~[TOOL_CALLS]get~[ARGS]{\"city\": \"Paris\", \"days\": 3}", ""},
    {CallForm::kMistral,
     "~[TOOL_CALLS]get~[CALL_ID]abc123def~[ARGS]{\"city\": \"Paris\", \"days\": 3}", ""},
    {CallForm::kMistral,
     "~[TOOL_CALLS] [{\"name\": \"get\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}]", ""},
    {CallForm::kGranite3,
     "~<|tool_call|>[{\"name\": \"get\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}]", ""},
    {CallForm::kOlmo, "~<function_calls>get(city=\"Paris\", days=3)~</function_calls>", ""},
    {CallForm::kLfm, "~<|tool_call_start|>[get(city='Paris', days=3)]~<|tool_call_end|>", ""},
    {CallForm::kLlama3,
     "~<|python_tag|>{\"name\": \"get\", \"parameters\": {\"city\": \"Paris\", \"days\": 3}}", ""},
    {CallForm::kLlama4, "~<|python_start|>[get(city=\"Paris\", days=3)]", ""},
};

constexpr std::string_view kHalfCall = "<tool_call>\n{";

// Mistral's arguments stay as the model wrote them.
bool is_call(std::string text) {
  const std::string spaced = R"({"city": "Paris", "days": 3})";
  const size_t at = text.find(spaced);
  if (at != text.npos) text.replace(at, spaced.size(), R"({"city":"Paris","days":3})");
  return text == kGetCall;
}

// The text with marks that are special tokens, or text.
std::string with_marks(std::string text, bool tokens) {
  for (size_t at; (at = text.find('~')) != text.npos;) {
    text.replace(at, 1, tokens ? std::string(1, kMarkByte) : "");
  }
  return text;
}

CallMarks marks_of(CallForm form, bool tokens) {
  CallMarks marks = call_marks(form);
  if (!tokens || form == CallForm::kQwenTags || form == CallForm::kGlmTags) return marks;
  marks.open = mark_bytes(marks.open);
  if (!marks.close.empty()) marks.close = mark_bytes(marks.close);
  for (std::string& mark : marks.within) mark = mark_bytes(mark);
  return marks;
}

// Whether a mark that is a token has begun before `at` and ends after it.
bool is_within_mark(const std::string& text, size_t at) {
  const size_t begin = text.rfind(kMarkByte, at - 1);
  if (begin == text.npos) return false;
  const std::string since = text.substr(begin, at - begin);
  return without_marks(since) == since.substr(1);
}

// What becomes of an answer, in random pieces if `random` is given.
std::string changed(const CallMarks& marks, const std::string& answer, bool ended = true,
                    Random* random = nullptr) {
  CallTranslator calls(marks, ToolTypes(kCallTools));
  std::string out;
  const auto add = [&](const std::vector<CallTranslator::Piece>& pieces) {
    for (const CallTranslator::Piece& piece : pieces) out += piece.text;
  };
  for (size_t at = 0; at < answer.size();) {
    size_t n = random == nullptr ? answer.size() : 1 + random->below(answer.size() - at);
    while (at + n < answer.size() && is_within_mark(answer, at + n)) ++n;
    add(calls.push(std::string_view(answer).substr(at, n)));
    at += n;
  }
  add(calls.finish(ended));
  return out;
}

std::string changed(CallForm form, const std::string& answer, bool ended = true,
                    Random* random = nullptr) {
  return changed(call_marks(form), answer, ended, random);
}

// Calls `check` with each form, its marks and its call, with tokens and with text.
template <class Check>
void for_each_form(const Check& check) {
  for (const Written& written : kForms) {
    for (const bool tokens : {false, true}) {
      SCOPED_TRACE(written.call + (tokens ? " with tokens" : " with text"));
      check(marks_of(written.form, tokens), with_marks(written.call, tokens), written.between);
    }
  }
}

TEST(CallTranslator, calls_get_the_common_form_however_the_answer_is_cut_into_pieces) {
  Random random(testing::test_seed());
  for_each_form([&](const CallMarks& marks, const std::string& call, const std::string& between) {
    const std::string answer = "I <look> [ [T.\n\n" + call + between + call + " <x [y <tool_ [TOOL";
    const std::string expected = changed(marks, answer);
    const std::string begin = "I <look> [ [T.\n\n", end = " <x [y <tool_ [TOOL";
    ASSERT_TRUE(expected.starts_with(begin) && expected.ends_with(end)) << expected;
    const std::string calls =
        expected.substr(begin.size(), expected.size() - begin.size() - end.size());
    const size_t second = calls.find("\n<tool_call>");
    ASSERT_NE(second, calls.npos) << calls;
    EXPECT_TRUE(is_call(calls.substr(0, second)) && is_call(calls.substr(second + 1))) << calls;
    for (int round = 0; round < 30; ++round) {
      EXPECT_EQ(changed(marks, answer, true, &random), expected);
    }
    // A call in the common form stays as it is.
    EXPECT_EQ(changed(marks, kGetCall + "x", true, &random), kGetCall + "x");
  });
}

// Wherever an answer is cut, a call is whole, or half a call in the common form, or text before it.
TEST(CallTranslator, an_answer_that_is_cut_has_no_half_call_as_text) {
  for_each_form([](const CallMarks& marks, const std::string& call, const std::string&) {
    const size_t begin = marks.open.size();
    for (size_t size = begin + 1; size < call.size(); ++size) {
      const std::string cut = changed(marks, call.substr(0, size), /*ended=*/false);
      EXPECT_EQ(cut, kHalfCall) << call.substr(0, size);
      EXPECT_TRUE(ends_in_half_call(cut, /*cut=*/true));
    }
    // If the answer ended by itself, only marks may be missing.
    EXPECT_TRUE(is_call(changed(marks, call.substr(0, call.size() - marks.close.size()))));
    if (marks.close.empty()) return;
    EXPECT_TRUE(is_call(changed(marks, call.substr(0, call.size() - 2))));
  });
}

TEST(CallTranslator, half_a_call_without_brackets_and_marks_is_no_text) {
  for (const char* cut : {"<tool_call>now", "<tool_call>now\n</tool", "<tool_call>now</t"}) {
    EXPECT_EQ(changed(CallForm::kGlmTags, cut, /*ended=*/false), "<tool_call>\n{") << cut;
  }
  EXPECT_EQ(changed(CallForm::kGlmTags, "<tool_call>now"),
            "<tool_call>\n{\"name\": \"now\", "
            "\"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(changed(CallForm::kGlmTags, "<tool_call>hello"), "<tool_call>hello");
}

TEST(CallTranslator, marks_within_values_are_their_text) {
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

TEST(CallTranslator, several_functions_in_one_call_are_several_calls) {
  EXPECT_EQ(changed(CallForm::kQwenTags,
                    "<tool_call><function=now></function><function=now>"
                    "</function></tool_call>"),
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>\n"
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
}

TEST(CallTranslator, a_mark_within_the_text_of_an_argument_is_its_text) {
  EXPECT_EQ(
      changed(CallForm::kOlmo, "<function_calls>f(a=\"</function_calls>\")</function_calls>."),
      "<tool_call>\n{\"name\": \"f\", \"arguments\": "
      "{\"a\":\"</function_calls>\"}}\n</tool_call>.");
  EXPECT_EQ(changed(CallForm::kLlama3, "<|python_tag|>get.call(city='a :) b', days=1)."),
            "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"city\":\"a :) b\",\"days\":1}}\n"
            "</tool_call>.");
  EXPECT_EQ(changed(CallForm::kMistral, "[TOOL_CALLS]f[ARGS]{\"a\":\"}[TOOL_CALLS]g[ARGS]{}\"}."),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":\"}[TOOL_CALLS]g[ARGS]{}\"}}\n"
            "</tool_call>.");
  // The text of a token is no token.
  EXPECT_EQ(changed(marks_of(CallForm::kGemma, true),
                    with_marks("~<|tool_call>call:f{a:~<|\"|><tool_call|><|\"|>,b:1~<|\"|>}"
                               "~<tool_call|>",
                               true)),
            "<tool_call>\n{\"name\": \"f\", \"arguments\": "
            "{\"a\":\"<tool_call|><|\\\"|>,b:1\"}}\n</tool_call>");
}

TEST(CallTranslator, a_call_that_is_not_closed_ends_where_the_next_one_begins) {
  for (const auto& [form, text] : {std::pair(CallForm::kGemma, "~<|tool_call>call:now{a:~<|\"|>x}"),
                                   {CallForm::kMistral, "~[TOOL_CALLS]now~[ARGS]{\"a\":\"x"},
                                   {CallForm::kOlmo, "~<function_calls>now()\n"},
                                   {CallForm::kLfm, "~<|tool_call_start|>[now()"}}) {
    const std::string both = with_marks(std::string(text) + text, true);
    const std::string read = changed(marks_of(form, true), both);
    const size_t second = read.rfind("<tool_call>");
    EXPECT_TRUE(read.starts_with("<tool_call>\n{\"name\": \"now\"")) << read;
    EXPECT_EQ(read.substr(0, second), read.substr(second) + "\n");
  }
}

TEST(CallTranslator, marks_without_a_call_are_left_out_and_their_text_stays) {
  const auto read = [](CallForm form, const std::string& text) {
    return changed(marks_of(form, true), with_marks(text, true));
  };
  EXPECT_EQ(read(CallForm::kMistral, "a ~[TOOL_CALLS]hello"), "a hello");
  EXPECT_EQ(read(CallForm::kMistral, "a ~[ARGS]b"), "a b");
  EXPECT_EQ(read(CallForm::kGemma, "~<tool_call|>~<|\"|>b~<|tool_call>{}~<tool_call|>c"), "b{}c");
  EXPECT_EQ(read(CallForm::kOlmo, "~<function_calls>hello~</function_calls>"), "hello");
  EXPECT_EQ(read(CallForm::kLlama3, "~<|python_tag|>print(1)"), "print(1)");
  EXPECT_EQ(changed(CallForm::kOlmo, "<function_calls>hello</function_calls>"),
            "<function_calls>hello</function_calls>");
}

TEST(CallTranslator, a_bare_call_is_the_beginning_of_an_answer) {
  const std::string call = R"({"name": "now", "parameters": {}})";
  const std::string common = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(changed(CallForm::kLlama3, call), common);
  EXPECT_EQ(changed(CallForm::kLlama3, " \n" + call + "; " + call + "\n" + call + " x"),
            " \n" + common + "\n" + common + "\n" + common + " x");
  EXPECT_EQ(changed(CallForm::kLlama4, "[now(), now()]"), common + "\n" + common);
  EXPECT_EQ(changed(CallForm::kLlama3, call + "; "), common);
  EXPECT_EQ(changed(CallForm::kLlama3, "x" + call), "x" + call);
  EXPECT_EQ(changed(CallForm::kLlama4, "x[now()]"), "x[now()]");
  for (const char* text : {R"({"capital": "Paris"})", R"({"name": "Paris", "parameters": {}})",
                           "{}", "[1, 2]", "[other()]", R"({"name": "now")", "[now", "{", " "}) {
    EXPECT_EQ(changed(CallForm::kLlama3, text), text);
    EXPECT_EQ(changed(CallForm::kLlama4, text), text);
  }
}

TEST(CallTranslator, text_after_a_mark_that_a_quote_hid_is_not_lost) {
  EXPECT_EQ(
      changed(CallForm::kOlmo,
              "<function_calls>f(a=\"5\" tall\")</function_calls> The rest <function_calls>now()"
              "</function_calls>."),
      "<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\":\"5\\\" tall\"}}\n</tool_call> The "
      "rest "
      "\n<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>.");
  std::string answer;
  for (int i = 0; i < 2000; ++i) answer += "<function_calls>f(\"</function_calls>x";
  EXPECT_NE(changed(CallForm::kOlmo, answer).find("x"), std::string::npos);
}

TEST(CallTranslator, an_answer_in_json_of_something_else_is_text_also_if_it_is_cut) {
  for (const char* text : {R"({"name": "Bob", "age": 3)", R"({"type": "object", "a")",
                           R"({ "type": "f", "name")", R"({"parameters": {})"}) {
    EXPECT_EQ(changed(CallForm::kLlama3, text, /*ended=*/false), text);
  }
  EXPECT_EQ(changed(CallForm::kLlama4, "[f(x) for x in y", false), "[f(x) for x in y");
  const std::string call = R"({"type": "function", "name": "now", "parameters": {)";
  EXPECT_EQ(changed(CallForm::kLlama3, call, false), kHalfCall);
}

TEST(CallTranslator, blanks_before_a_bare_call_take_no_longer) {
  for (const std::string& begin : {std::string(), std::string("{"), std::string("[")}) {
    for (const CallForm form : {CallForm::kLlama3, CallForm::kLlama4}) {
      CallTranslator calls(call_marks(form), ToolTypes(kCallTools));
      std::string out;
      const auto add = [&](const std::vector<CallTranslator::Piece>& pieces) {
        for (const CallTranslator::Piece& piece : pieces) out += piece.text;
      };
      add(calls.push(begin));
      for (int i = 0; i < 200'000; ++i) add(calls.push(" "));
      add(calls.finish(true));
      EXPECT_EQ(out.size(), begin.size() + 200'000);
    }
  }
}

// An answer in JSON is not held back.
TEST(CallTranslator, text_that_cannot_become_a_bare_call_is_given_out_at_once) {
  for (const auto& [form, text] :
       {std::pair(CallForm::kLlama3, R"({"capital)"), {CallForm::kLlama4, "[1,"}}) {
    CallTranslator calls(call_marks(form), ToolTypes(kCallTools));
    const auto pieces = calls.push(text);
    ASSERT_EQ(pieces.size(), 1u);
    EXPECT_EQ(pieces[0].text, text);
  }
}

TEST(CallTranslator, a_bare_call_that_is_cut_is_half_a_call) {
  const std::string call = R"({"name": "now", "parameters": {"a": 1}})";
  for (size_t size = 2; size < call.size(); ++size) {
    EXPECT_EQ(changed(CallForm::kLlama3, call.substr(0, size), false), kHalfCall) << size;
  }
}

TEST(CallTranslator, random_pieces_of_marks_are_read_the_same_whole_and_cut) {
  const std::vector<std::string> parts = {"~<|tool_call>",
                                          "~<tool_call|>",
                                          "~<|\"|>",
                                          "call:",
                                          "get",
                                          "{",
                                          "}",
                                          "(",
                                          ")",
                                          "[",
                                          "]",
                                          "city",
                                          ":",
                                          "=",
                                          ",",
                                          "\"",
                                          "'",
                                          "\\",
                                          "3",
                                          " ",
                                          "\n",
                                          "~[TOOL_CALLS]",
                                          "~[ARGS]",
                                          "~[CALL_ID]",
                                          "\"name\":",
                                          "\"parameters\":",
                                          "~<function_calls>",
                                          "~</function_calls>",
                                          "~<|tool_call_start|>",
                                          "~<|tool_call_end|>",
                                          "~<|python_tag|>",
                                          "~<|tool_call|>",
                                          ";",
                                          "~<|python_start|>",
                                          "text",
                                          "now()",
                                          "<tool_call>",
                                          "</tool_call>",
                                          "<function=",
                                          "<arg_key>"};
  Random random(testing::test_seed());
  for (int round = 0; round < 3000; ++round) {
    const Written& written = kForms[random.below(kForms.size())];
    const bool tokens = random.below(2) == 0;
    std::string answer;
    for (uint64_t n = random.below(30); n > 0; --n) {
      const bool is_own = random.below(8) == 0;
      answer += is_own ? written.call : parts[random.below(parts.size())];
    }
    const CallMarks marks = marks_of(written.form, tokens);
    answer = with_marks(answer, tokens);
    const bool ended = random.below(2) == 0;
    const std::string whole = changed(marks, answer, ended);
    EXPECT_EQ(whole.find(kMarkByte), whole.npos);
    EXPECT_EQ(changed(marks, answer, ended, &random), whole) << answer;
  }
}

// Tags in strings of JSON are no values.
TEST(CallTranslator, json_between_the_marks_of_tags_stays_as_it_is_up_to_its_own_end) {
  const std::string json =
      "<tool_call>\n{\"name\": \"f\", \"arguments\": "
      "{\"a\": \"<parameter=</tool_call>'\\\"\"}}\n</tool_call>";
  const std::string tags = "<tool_call>\n<function=f>\n</function>\n</tool_call>";
  const std::string read = "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>";
  EXPECT_EQ(changed(CallForm::kQwenTags, json + "\n" + tags), json + "\n" + read);
  EXPECT_EQ(changed(CallForm::kGlmTags, json + "\n" + json), json + "\n" + json);
  const std::string open = "<tool_call>\n  {\"a\": \"";
  EXPECT_EQ(changed(CallForm::kQwenTags, open), open);
}

TEST(CallTranslator, many_calls_that_never_end_take_no_longer) {
  std::string answer;
  for (int i = 0; i < 40'000; ++i) answer += "<tool_call><parameter=</tool_call>";
  CallTranslator calls(call_marks(CallForm::kQwenTags), ToolTypes(kCallTools));
  std::string out;
  for (size_t at = 0; at < answer.size(); at += 5) {
    for (const auto& piece : calls.push(answer.substr(at, 5))) out += piece.text;
  }
  for (const auto& piece : calls.finish(true)) out += piece.text;
  EXPECT_TRUE(out == answer);
}

TEST(CallTranslator, quotes_that_never_end_take_no_longer) {
  std::string answer;
  for (int i = 0; i < 40'000; ++i) answer += "[TOOL_CALLS]f[ARGS]{\"";
  CallTranslator calls(call_marks(CallForm::kMistral), ToolTypes(kCallTools));
  for (size_t at = 0; at < answer.size(); at += 5) (void)calls.push(answer.substr(at, 5));
  const auto pieces = calls.finish(true);
  ASSERT_EQ(pieces.size(), 1u);
  EXPECT_TRUE(pieces[0].text.starts_with("<tool_call>\n{\"name\": \"f\""));
}

}  // namespace
}  // namespace cascade
