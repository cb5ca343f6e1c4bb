// Calls whose arguments are between tags, without the quotes of JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tool_types.h"

namespace cascade {

// The tags. Only those of calls of the same form count.
inline constexpr std::string_view kFunctionTag = "<function=";
inline constexpr std::string_view kFunctionEnd = "</function>";
inline constexpr std::string_view kParameterTag = "<parameter=";
inline constexpr std::string_view kParameterEnd = "</parameter>";
inline constexpr std::string_view kKeyTag = "<arg_key>";
inline constexpr std::string_view kKeyEnd = "</arg_key>";
inline constexpr std::string_view kValueTag = "<arg_value>";
inline constexpr std::string_view kValueEnd = "</arg_value>";

// The JSON (model/calls/call_json.h) of the calls that Qwen3-Coder or GLM wrote between the marks
// of a call: mostly one. None if it wrote no call in this form: a call of GLM without arguments
// must be that of a known function. Missing closing tags are tolerated. A closing tag ends a value
// if another tag, or nothing, follows it. One line end on each side of a value of Qwen is not part
// of the value.
std::vector<std::string> read_qwen_tags(std::string_view body, const ToolTypes& types);
std::vector<std::string> read_glm_tags(std::string_view body, const ToolTypes& types);

}  // namespace cascade
