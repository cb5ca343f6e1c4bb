// The forms in which models write answers, thoughts and calls of tools, as grammars see them.
#pragma once

namespace cascade {

enum class AnswerForm {
  // The answer is the text after the thoughts; a call is <tool_call>{"name":…,"arguments":…}
  // </tool_call> in it (base/tool_call_parser.h).
  kTagged,
  // A list of messages, each in a channel (model/harmony.h).
  kHarmony,
  // As kTagged, but calls are those of this form (model/calls/call_form.h), and their marks, where
  // it has some, are tokens.
  kGemma,
  kMistral,
  kLlama3,
  // As kTagged, but calls are those of this form, with marks that are text.
  kQwenTags,
  kGlmTags,
};

// Whether the arguments of calls are between tags (model/grammar/tagged_arguments.h).
inline bool has_tags(AnswerForm form) {
  return form == AnswerForm::kQwenTags || form == AnswerForm::kGlmTags;
}

// Whether thoughts are a part of what a grammar describes. Otherwise it begins after them.
inline bool has_thoughts(AnswerForm form) {
  return form == AnswerForm::kHarmony;
}

}  // namespace cascade
