// Answers of models whose marks of calls and thoughts are special tokens.
#include <gtest/gtest.h>

#include "base/utf8.h"
#include "model/output_stream.h"
#include "tests/model/calls/calls_models.h"
#include "tests/model/calls/calls_testing.h"

namespace cascade {
namespace {

using testing::gemma_model;
using testing::Ids;
using testing::kCallTools;
using testing::kGetCall;
using testing::mistral_model;
using testing::TextModel;

struct Read {
  std::string answer, reasoning;
  std::vector<ThinkSpan> spans;
};

// What becomes of generated text, in which special tokens are recognised. Checks that the pieces of
// the stream are the whole texts.
Read read(const TextModel& model, const std::string& generated, bool tools = true,
          bool inside_think = false) {
  std::optional<CallTranslator> calls;
  if (tools) {
    calls.emplace(call_marks(model.templates.call_form(), model.tokenizer), ToolTypes(kCallTools));
  }
  OutputStream stream(model.tokenizer, inside_think, {"STOP"}, /*goes_on=*/false, std::move(calls));
  const Ids ids = *model.tokenizer.encode(generated, /*trusted=*/true, /*with_template=*/false);
  Read streamed;
  const auto take = [&](const std::vector<OutputStream::Piece>& pieces) {
    for (const OutputStream::Piece& piece : pieces) {
      EXPECT_TRUE(is_utf8(piece.text) && !piece.text.empty()) << generated;
      (piece.reasoning ? streamed.reasoning : streamed.answer) += piece.text;
    }
  };
  for (const int32_t id : ids) take(stream.push(id));
  take(stream.finish(/*ended=*/true));
  EXPECT_EQ(streamed.answer, stream.answer()) << generated;
  EXPECT_EQ(streamed.reasoning, stream.reasoning()) << generated;
  EXPECT_EQ(stream.raw_text(), generated);
  return {stream.answer(), stream.reasoning(), stream.think_spans()};
}

const std::string kGemmaCall = "<|tool_call>call:get{city:<|\"|>Paris<|\"|>,days:3}<tool_call|>";

TEST(OutputStreamCalls, gemma_thinks_answers_and_calls) {
  const TextModel model = gemma_model();
  ASSERT_EQ(model.templates.call_form(), CallForm::kGemma);
  const Read read_all =
      read(model, "<|channel>thought\nHm.\n<channel|>I look." + kGemmaCall + kGemmaCall);
  EXPECT_EQ(read_all.reasoning, "Hm.");
  EXPECT_EQ(read_all.answer, "I look.\n" + kGetCall + "\n" + kGetCall);
  ASSERT_EQ(read_all.spans.size(), 1u);
  EXPECT_TRUE(read_all.spans[0].closed);
  const Read empty = read(model, "<|channel>thought\n<channel|>Hi");
  EXPECT_EQ(empty.reasoning + "|" + empty.answer, "|Hi");
  // The prompt had the header.
  const Read opened = read(model, "thought\nHm.<channel|>Hi", true, /*inside_think=*/true);
  EXPECT_EQ(opened.reasoning + "|" + opened.answer, "thought\nHm.|Hi");
}

TEST(OutputStreamCalls, a_call_within_thoughts_ends_them) {
  const Read gemma = read(gemma_model(), "<|channel>thought\nHm." + kGemmaCall);
  EXPECT_EQ(gemma.reasoning, "Hm.");
  EXPECT_EQ(gemma.answer, kGetCall);
  ASSERT_EQ(gemma.spans.size(), 1u);
  EXPECT_FALSE(gemma.spans[0].closed);
  const Read mistral = read(mistral_model(), "[THINK]Hm.[ARGS][TOOL_CALLS]now[ARGS]{}");
  EXPECT_EQ(mistral.reasoning, "Hm.");
  EXPECT_EQ(mistral.answer, "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>");
}

TEST(OutputStreamCalls, without_tools_marks_are_no_text) {
  const Read plain = read(gemma_model(), "I look." + kGemmaCall, /*tools=*/false);
  EXPECT_EQ(plain.answer, "I look.call:get{city:Paris,days:3}");
}

TEST(OutputStreamCalls, text_that_spells_a_mark_stays_text) {
  const TextModel model = gemma_model();
  OutputStream stream(model.tokenizer, false, {}, false,
                      CallTranslator(call_marks(CallForm::kGemma, model.tokenizer), ToolTypes()));
  const Ids ids = *model.tokenizer.encode(kGemmaCall, /*trusted=*/false, false);
  for (const int32_t id : ids) (void)stream.push(id);
  (void)stream.finish(true);
  EXPECT_EQ(stream.answer(), kGemmaCall);
}

TEST(OutputStreamCalls, stop_strings_count_in_text_only) {
  EXPECT_EQ(read(gemma_model(), "<|tool_call>call:now{a:<|\"|>STOP<|\"|>}<tool_call|>").answer,
            "<tool_call>\n{\"name\": \"now\", \"arguments\": {\"a\":\"STOP\"}}\n</tool_call>");
  const TextModel model = mistral_model();
  OutputStream stream(model.tokenizer, false, {"STOP"}, false,
                      CallTranslator(call_marks(CallForm::kMistral, model.tokenizer), ToolTypes()));
  const Ids ids = *model.tokenizer.encode("aSTOP[TOOL_CALLS]now[ARGS]{}", true, false);
  for (const int32_t id : ids) (void)stream.push(id);
  (void)stream.finish(true);
  EXPECT_EQ(stream.answer(), "a");
}

}  // namespace
}  // namespace cascade
