// The forms in which models write calls of tools into their answers.
#pragma once

#include <cstdint>

namespace cascade {

enum class CallForm : uint8_t {
  // <tool_call>{"name":…,"arguments":…}</tool_call>, the form that all calls get
  // (base/tool_call_parser.h): Qwen, Hermes, Granite 4 and others.
  kJson,
  // <tool_call><function=NAME><parameter=KEY>VALUE</parameter>…</function></tool_call>: the form of
  // Qwen3-Coder and Qwen 3.5.
  kQwenTags,
  // <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>…</tool_call>: GLM-4.5 and
  // later.
  kGlmTags,
  // <|tool_call>call:NAME{KEY:VALUE,…}<tool_call|>, texts between <|"|> and not escaped: Gemma 4.
  kGemma,
  // [TOOL_CALLS]NAME[ARGS]{…}, also with [CALL_ID]ID, or [TOOL_CALLS][{"name":…,"arguments":…}]:
  // Mistral's models of all ages.
  kMistral,
  // <|tool_call|>[{"name":…,"arguments":…}]: Granite 3.
  kGranite3,
  // <function_calls>NAME(KEY=VALUE, …)</function_calls>, a call a line: OLMo 3.
  kOlmo,
  // <|tool_call_start|>[NAME(KEY=VALUE, …), …]<|tool_call_end|>: LFM2.
  kLfm,
  // {"name":…,"parameters":…} as the beginning of the answer, or after <|python_tag|>: Llama 3.
  kLlama3,
  // [NAME(KEY=VALUE, …), …] as the beginning of the answer, or after <|python_start|>: Llama 4.
  kLlama4,
};

// Whether the values of calls are between tags (model/calls/tagged_body.h).
inline bool has_tags(CallForm form) {
  return form == CallForm::kQwenTags || form == CallForm::kGlmTags;
}

}  // namespace cascade
