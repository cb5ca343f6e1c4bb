// A harmony call may have its recipient before or in the channel: models write both.
#include "model/grammar/answer.h"

#include <utility>

#include "model/calls/call_json.h"
#include "model/calls/tagged_body.h"
#include "model/grammar/code_points.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

// The texts before and after the arguments of a call, and the text between two calls.
struct CallFrame {
  std::string before, after, between;
};

CallFrame frame_of(AnswerForm form, const std::string& function) {
  const std::string open(kToolCallOpen), close(kToolCallClose);
  switch (form) {
    case AnswerForm::kGemma:
      return {mark_bytes("<|tool_call>") + "call:" + function, mark_bytes("<tool_call|>"), ""};
    case AnswerForm::kMistral:
      return {mark_bytes("[TOOL_CALLS]") + function + mark_bytes("[ARGS]"), "", ""};
    case AnswerForm::kLlama3:
      return {"{\"name\": " + dump_exact(OrderedJson(function)) + ", \"parameters\": ", "}", "; "};
    case AnswerForm::kQwenTags:
      return {open + "\n" + std::string(kFunctionTag) + function + ">\n",
              std::string(kFunctionEnd) + "\n" + close, "\n"};
    case AnswerForm::kGlmTags: return {open + function, close, "\n"};
    case AnswerForm::kTagged:
    case AnswerForm::kHarmony: break;
  }
  return {open + "\n" + call_begin(function), "}\n" + close, "\n"};
}

GrammarNodeId framed_call(GrammarBuilder& builder, const CallGrammar& call) {
  const CallFrame frame = frame_of(call.form, call.function);
  std::vector<GrammarNodeId> parts = {builder.text(frame.before), call.arguments};
  if (!frame.after.empty()) parts.push_back(builder.text(frame.after));
  return builder.sequence(std::move(parts));
}

const std::string& channel_mark() {
  static const std::string kMark = mark_bytes("<|channel|>");
  return kMark;
}

const std::string& message_mark() {
  static const std::string kMark = mark_bytes("<|message|>");
  return kMark;
}

GrammarNodeId harmony_call(GrammarBuilder& builder, const CallGrammar& call) {
  const std::string to = " to=functions." + call.function;
  const std::string in_channel = channel_mark() + "commentary" + to + " " +
                                 mark_bytes("<|constrain|>") + "json" + message_mark();
  const std::string in_role = to + channel_mark() + "commentary json" + message_mark();
  return builder.sequence(
      {builder.choice({builder.text(in_channel), builder.text(in_role)}), call.arguments});
}

// Messages in the channel of thoughts, each followed by the role of the next one.
GrammarNodeId harmony_thoughts(GrammarBuilder& builder) {
  const CodePointDfa any = {{{.edges = {{{0, kCodePointMax}, 0}}, .final = true}}};
  const GrammarNodeId text = builder.terminal(add_texts(builder.bytes(), any, TextForm::kPlain));
  const GrammarNodeId message = builder.sequence(
      {builder.text(channel_mark() + "analysis" + message_mark()), text,
       builder.text(mark_bytes("<|end|>") + mark_bytes("<|start|>") + "assistant")});
  return builder.repeat(message, 0, GrammarNode::kUnbounded);
}

}  // namespace

GrammarNodeId add_calls(GrammarBuilder& builder, AnswerForm form,
                        const std::vector<CallGrammar>& calls, uint32_t max) {
  std::vector<GrammarNodeId> nodes;
  nodes.reserve(calls.size());
  const bool is_harmony = form == AnswerForm::kHarmony;
  for (const CallGrammar& call : calls) {
    nodes.push_back(is_harmony ? harmony_call(builder, call) : framed_call(builder, call));
  }
  const GrammarNodeId one = builder.choice(std::move(nodes));
  if (is_harmony || max == 1) return one;
  const std::string between = frame_of(form, "").between;
  const GrammarNodeId next = between.empty() ? one : builder.sequence({builder.text(between), one});
  const uint32_t more = max == GrammarNode::kUnbounded ? max : max - 1;
  return builder.sequence({one, builder.repeat(next, 0, more)});
}

GrammarNodeId add_answer(GrammarBuilder& builder, AnswerForm form, std::vector<GrammarNodeId> texts,
                         std::vector<GrammarNodeId> calls) {
  if (form == AnswerForm::kHarmony && !texts.empty()) {
    const GrammarNodeId text = builder.choice(std::move(texts));
    texts = {builder.sequence({builder.text(channel_mark() + "final" + message_mark()), text})};
  }
  texts.insert(texts.end(), calls.begin(), calls.end());
  const GrammarNodeId answer = builder.choice(std::move(texts));
  if (form != AnswerForm::kHarmony) return answer;
  return builder.sequence({harmony_thoughts(builder), answer});
}

}  // namespace cascade
