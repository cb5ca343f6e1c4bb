// Calls in an answer that comes in pieces. tests/wire/openai/half_call_test.cc has answers that
// were cut, and damaged calls.
#include "base/tool_call_parser.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade {
namespace {

std::string text_of(const std::vector<AnswerPart>& parts) {
  std::string text;
  for (const AnswerPart& part : parts) {
    EXPECT_TRUE(part.calls.empty());
    text += part.text;
  }
  return text;
}

TEST(ToolCallParser, what_only_looks_like_a_call_is_text_however_it_is_cut) {
  Random random(testing::test_seed());
  for (const std::string text :
       {"a <tool_call> b", "<tool_call>{}</tool_call>", "x<tool_call>{\"name\": 3}</tool_call>y",
        "<tool_", "  \n", "", "<tool_call> is a mark", "1 < 2 <t <tool_call"}) {
    for (int round = 0; round < 20; ++round) {
      ToolCallParser parser(/*parallel=*/true);
      std::string got;
      for (size_t at = 0; at < text.size();) {
        const size_t n = 1 + random.below(text.size() - at);
        got += text_of(parser.push(std::string_view(text).substr(at, n)));
        at += n;
      }
      got += text_of(parser.finish(/*cut=*/false));
      // White space at the end is held back until finish(), since a call may follow it.
      EXPECT_EQ(got, text) << text;
    }
  }
}

TEST(ToolCallParser, marks_within_strings_of_a_call_are_its_text) {
  Random random(testing::test_seed());
  const std::string first =
      R"(<tool_call>{"name":"f","arguments":{"c":"</tool_call>\"</tool_call>"}}</tool_call>)";
  const std::string odd = R"(<tool_call>5" wide</tool_call>)";
  const std::string second =
      R"(<tool_call>{"name":"g","arguments":{"c":"<tool_call>"}}</tool_call>)";
  for (int round = 0; round < 50; ++round) {
    ToolCallParser parser(/*parallel=*/true);
    std::string got;
    std::vector<ToolCall> calls;
    const auto add = [&](const std::vector<AnswerPart>& parts) {
      for (const AnswerPart& part : parts) {
        got += part.text;
        calls.insert(calls.end(), part.calls.begin(), part.calls.end());
      }
    };
    const std::string text = first + "x" + odd + second;
    for (size_t at = 0; at < text.size();) {
      const size_t n = 1 + random.below(text.size() - at);
      add(parser.push(std::string_view(text).substr(at, n)));
      at += n;
    }
    add(parser.finish(/*cut=*/false));
    EXPECT_EQ(got, "x" + odd);
    ASSERT_EQ(calls.size(), 2u);
    EXPECT_EQ(calls[0].arguments, R"({"c":"</tool_call>\"</tool_call>"})");
    EXPECT_EQ(calls[1].name, "g");
    EXPECT_EQ(calls[1].arguments, R"({"c":"<tool_call>"})");
  }
}

// Wherever reading begins, a string stays open to the end, and in that case every mark counts.
// Reading to the end again for each mark would take minutes.
TEST(ToolCallParser, many_calls_whose_strings_never_end_are_text) {
  std::string text;
  for (int i = 0; i < 40'000; ++i) text += R"(<tool_call>\"</tool_call>)";
  ToolCallParser parser(/*parallel=*/true);
  std::string got;
  for (size_t at = 0; at < text.size(); at += 5) got += text_of(parser.push(text.substr(at, 5)));
  got += text_of(parser.finish(/*cut=*/false));
  EXPECT_TRUE(got == text);
}

TEST(ToolCallParser, without_parallel_calls_the_first_counts) {
  ToolCallParser parser(/*parallel=*/false);
  size_t calls = 0;
  const std::string call = R"(<tool_call>{"name":"f"}</tool_call>)";
  for (const AnswerPart& part : parser.push(call + call)) calls += part.calls.size();
  EXPECT_EQ(calls, 1u);
}

}  // namespace
}  // namespace cascade
