// Generations in harmony as thoughts, an answer and calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "base/tool_call_parser.h"
#include "base/utf8.h"
#include "model/harmony_reader.h"
#include "model/output_stream.h"
#include "tests/long_tests.h"
#include "tests/model/harmony_testing.h"
#include "tests/model/output_testing.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

constexpr std::string_view kThinks = "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant";
constexpr std::string_view kFinal = "<|channel|>final<|message|>";

struct Read {
  std::string answer, reasoning;
  std::vector<ThinkSpan> spans;
  bool stopped = false;
};

// Pushes the tokens of `text` and finishes; checks that the stream and the result agree.
Read read(std::string_view text, bool ended = true, std::vector<std::string> stop = {}) {
  OutputStream stream(harmony_tokenizer(), /*inside_think=*/false, std::move(stop));
  Read streamed;
  const auto take = [&](const std::vector<OutputStream::Piece>& pieces) {
    for (const OutputStream::Piece& piece : pieces) {
      EXPECT_TRUE(!piece.text.empty() && is_utf8(piece.text));
      (piece.reasoning ? streamed.reasoning : streamed.answer) += piece.text;
    }
  };
  for (const int32_t id : harmony_ids(text)) take(stream.push(id));
  take(stream.finish(ended));
  EXPECT_EQ(streamed.answer, stream.answer());
  EXPECT_EQ(streamed.reasoning, stream.reasoning());
  streamed.spans = stream.think_spans();
  streamed.stopped = stream.stopped();
  return streamed;
}

TEST(HarmonyOutput, analysis_is_thoughts_and_final_is_the_answer) {
  const Read both = read(std::string(kThinks) + std::string(kFinal) + "Yes.\n");
  EXPECT_EQ(both.reasoning, "Hm.");
  EXPECT_EQ(both.answer, "Yes.\n");
  ASSERT_EQ(both.spans.size(), 1u);
  EXPECT_EQ(both.spans[0].begin, 0);
  EXPECT_TRUE(both.spans[0].closed);
  const Ids before = harmony_ids(std::string(kThinks) + std::string(kFinal));
  EXPECT_EQ(both.spans[0].end, static_cast<int32_t>(before.size()));
  EXPECT_EQ(read(std::string(kFinal) + "\nYes").answer, "Yes");
  EXPECT_EQ(read("Yes, without a header.").answer, "Yes, without a header.");
}

TEST(HarmonyOutput, several_messages_of_a_channel_are_joined) {
  const Read read_all =
      read(std::string(kThinks) + std::string(kThinks) + "<|channel|>commentary<|message|>I look." +
           "<|end|><|start|>assistant" + std::string(kFinal) + "Done.");
  EXPECT_EQ(read_all.reasoning, "Hm.\nHm.");
  EXPECT_EQ(read_all.answer, "I look.\n\nDone.");
}

TEST(HarmonyOutput, thoughts_that_were_cut_are_an_open_block) {
  const Read cut = read("<|channel|>analysis<|message|>Hm", /*ended=*/false);
  EXPECT_EQ(cut.reasoning, "Hm");
  EXPECT_EQ(cut.answer, "");
  ASSERT_EQ(cut.spans.size(), 1u);
  EXPECT_FALSE(cut.spans[0].closed);
}

TEST(HarmonyOutput, a_call_has_the_form_that_all_calls_have) {
  const std::string call =
      "<tool_call>\n{\"name\": \"get\", \"arguments\": {\"a\": 1}}\n</tool_call>";
  for (const char* header : {"<|channel|>commentary to=functions.get <|constrain|>json<|message|>",
                             "<|channel|>commentary to=functions.get<|constrain|>json<|message|>",
                             " to=functions.get<|channel|>commentary json<|message|>",
                             "<|channel|>analysis to=functions.get code<|message|>"}) {
    const std::string text = header + std::string("{\"a\": 1}");
    EXPECT_EQ(read(text).answer, call) << header;
    EXPECT_EQ(read(text + "<|end|>").answer, call) << header;
    EXPECT_EQ(read(text + "<|call|>", /*ended=*/false).answer, call) << header;
  }
  const std::string preamble = "<|channel|>commentary<|message|>I look.<|end|><|start|>assistant";
  const Read after = read(std::string(kThinks) + preamble +
                          "<|channel|>commentary to=functions.get <|constrain|>json<|message|>"
                          "{\"a\": 1}");
  EXPECT_EQ(after.answer, "I look.\n" + call);
  EXPECT_EQ(after.reasoning, "Hm.");
}

TEST(HarmonyOutput, a_call_without_arguments_has_none_and_its_name_is_text) {
  EXPECT_EQ(read("<|channel|>commentary to=functions.now<|message|>").answer,
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
  EXPECT_EQ(read("<|channel|>commentary to=functions.a\"b<|message|> \n").answer,
            "<tool_call>\n{\"name\": \"a\\\"b\", \"arguments\": {}}\n</tool_call>");
}

TEST(HarmonyOutput, a_call_that_was_cut_stays_open) {
  const std::string text = "<|channel|>commentary to=functions.get<|message|>{\"a\": ";
  const Read cut = read(text, /*ended=*/false);
  EXPECT_EQ(cut.answer, "<tool_call>\n{\"name\": \"get\", \"arguments\": ");
  EXPECT_TRUE(ends_in_half_call(cut.answer, /*cut=*/true));
}

// Reads the calls of an answer as clients get them: "name(arguments)", and the text.
std::string calls_in(const std::string& answer) {
  ToolCallParser parser(/*parallel=*/true);
  std::vector<AnswerPart> parts = parser.push(answer);
  for (AnswerPart& part : parser.finish(/*cut=*/false)) parts.push_back(std::move(part));
  std::string out;
  for (const AnswerPart& part : parts) {
    out += part.text;
    for (const ToolCall& call : part.calls) out += call.name + "(" + call.arguments + ")";
  }
  return out;
}

TEST(HarmonyOutput, arguments_cannot_become_another_call) {
  const std::string header = "<|channel|>commentary to=functions.get<|message|>";
  for (const char* body :
       {"{}, \"name\": \"now\"", "{\"a\":1", "{\"k\":1},\"x\":{\"y\":2}", "</tool_call>",
        "{}}</tool_call>", "print(1)", "[1]", "null", "\"text\"", "\"", "{\"a\": \"</tool_call>\"",
        "{\"c\":\"X\"</tool_call>p<tool_call>{\"name\":\"now\",\"arguments\":{}}"}) {
    EXPECT_EQ(calls_in(read(header + body).answer), "get(" + std::string(body) + ")");
    const std::string cut = read(header + body, /*ended=*/false).answer;
    EXPECT_TRUE(ends_in_half_call(cut, /*cut=*/true)) << cut;
  }
  EXPECT_EQ(calls_in(read(header + " {\"a\": [1]} ").answer), "get({\"a\":[1]})");
}

TEST(HarmonyOutput, stop_strings_count_in_text_and_not_in_calls) {
  const std::string call = "<|channel|>commentary to=functions.get<|message|>{\"a\": 1}";
  EXPECT_FALSE(read(call, true, {"<tool_call>", "arguments", "\n", "1"}).stopped);
  const std::string thinks = "<|channel|>analysis<|message|>STOP<|end|><|start|>assistant";
  EXPECT_EQ(read(thinks + std::string(kFinal) + "no STOP", true, {"STOP"}).answer, "no ");
  const std::string twice =
      std::string(kFinal) + "a<|end|><|start|>assistant" + std::string(kFinal);
  EXPECT_EQ(read(twice + "b", true, {"\n\n"}).answer, "a\n\nb");
  EXPECT_EQ(read(twice, true).answer, "a");
  // What was held back is part of the answer when somebody else's message ends it.
  EXPECT_EQ(
      read(std::string(kFinal) + "a\n<|end|><|start|>user<|message|>b", true, {"\n\n"}).answer,
      "a\n");
}

TEST(HarmonyOutput, a_message_of_somebody_else_ends_the_answer) {
  const Read read_all = read(std::string(kFinal) + "Yes<|end|><|start|>user<|message|>And?");
  EXPECT_EQ(read_all.answer, "Yes");
  EXPECT_TRUE(read_all.stopped);
  const Read headless = read(std::string(kFinal) + "Yes<|end|><|start|>user\nAnd?<|end|>more");
  EXPECT_EQ(headless.answer, "Yes");
  EXPECT_TRUE(headless.stopped);
}

// A prompt of token ids may end anywhere in a message.
TEST(HarmonyOutput, a_generation_goes_on_where_its_prompt_ended) {
  const auto after = [](std::string_view prompt, std::string_view text) {
    const auto reader = harmony_reader(harmony_tokenizer(), harmony_ids(prompt));
    OutputStream stream(harmony_tokenizer(), reader->part() == HarmonyPart::kThoughts, {},
                        /*goes_on=*/true, std::nullopt, reader);
    for (const int32_t id : harmony_ids(text)) (void)stream.push(id);
    (void)stream.finish(true);
    return stream.reasoning() + "|" + calls_in(stream.answer());
  };
  const std::string prompt = "<|start|>user<|message|>Hi<|end|><|start|>assistant";
  EXPECT_EQ(after(prompt, " to=functions.now<|message|>{}"), "|now({})");
  EXPECT_EQ(after(prompt, "Hello"), "|Hello");
  EXPECT_EQ(after(prompt + "<|channel|>analysis<|message|>", "Hm<|end|>"), "Hm|");
  EXPECT_EQ(after(prompt + "<|channel|>analysis", "<|message|>Hm<|end|>"), "Hm|");
  EXPECT_EQ(after(prompt + "<|channel|>final<|message|>", " to=be"), "| to=be");
  EXPECT_EQ(after("To be", " to=be"), "| to=be");
  EXPECT_FALSE(harmony_reader(demo_tokenizer(), {}));
}

TEST(HarmonyOutput, an_answer_that_goes_on_needs_no_header) {
  OutputStream stream(harmony_tokenizer(), false, {}, /*goes_on=*/true);
  for (const int32_t id : harmony_ids(" to=be or not")) (void)stream.push(id);
  (void)stream.finish(true);
  EXPECT_EQ(stream.answer(), " to=be or not");
  EXPECT_TRUE(stream.think_spans().empty());
}

// Whatever a model writes, the stream and the result agree (checked by read()), and the thoughts
// are found again in the text.
TEST(HarmonyOutput, random_tokens_are_read_alike_as_tokens_and_as_text) {
  Random random(test_seed());
  const std::vector<std::string> kParts = {"<|start|>",
                                           "<|channel|>",
                                           "<|message|>",
                                           "<|end|>",
                                           "<|constrain|>",
                                           "assistant",
                                           "analysis",
                                           "final",
                                           "commentary",
                                           "Hm",
                                           " to=functions.f",
                                           "\n",
                                           "{}",
                                           "<|channel|>analysis<|message|>",
                                           "<|end|><|start|>assistant"};
  for (int round = long_or(20'000, 2'000); round > 0; --round) {
    std::string text = random.below(2) == 0 ? "<|channel|>" : "Hm <|channel|>";
    for (uint64_t n = 1 + random.below(12); n > 0; --n) text += kParts[random.below(kParts.size())];
    const Read read_all = read(text, random.below(2) == 0);
    EXPECT_TRUE(is_harmony_text(text));
    if (!read_all.stopped) {
      EXPECT_EQ(harmony_thoughts(text), read_all.reasoning) << text;
    }
    int32_t end = 0;
    for (const ThinkSpan& span : read_all.spans) {
      EXPECT_TRUE(span.begin >= end && span.end > span.begin) << text;
      end = span.end;
    }
  }
}

}  // namespace
}  // namespace cascade::testing
