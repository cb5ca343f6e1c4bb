// The forms in which models write calls of tools into their answers.
#pragma once

#include <cstdint>

namespace cascade {

enum class CallForm : uint8_t {
  // <tool_call>{"name":…,"arguments":…}</tool_call>, the form that all calls get
  // (base/tool_call_parser.h): Qwen, Hermes, Granite and others.
  kJson,
  // <tool_call><function=NAME><parameter=KEY>VALUE</parameter>…</function></tool_call>: the form of
  // Qwen3-Coder and Qwen 3.5.
  kQwenTags,
  // <tool_call>NAME<arg_key>KEY</arg_key><arg_value>VALUE</arg_value>…</tool_call>: GLM-4.5 and
  // later.
  kGlmTags,
};

}  // namespace cascade
