// What a model wrote between the marks of a call, in any form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tool_types.h"
#include "model/calls/call_form.h"

namespace cascade {

// The JSON (model/calls/call_json.h) of the calls in `body`: mostly one. None if it is no call, or
// `form` is kJson. The marks in `body` are those of call_marks().
std::vector<std::string> read_calls(CallForm form, std::string_view body, const ToolTypes& types);

// Whether a body that goes on may become a call. `is_bare`: no mark came before it; then only
// functions that `types` has count.
bool may_become_call(CallForm form, std::string_view body, bool is_bare, const ToolTypes& types);

}  // namespace cascade
