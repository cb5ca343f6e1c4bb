// Calls whose arguments are not JSON (model/calls/relaxed_text.h).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tool_types.h"

namespace cascade {

// The JSON (model/calls/call_json.h) of the call that Gemma wrote, call:NAME{KEY:VALUE,…}. A value
// without quotes is what its schema says. Missing brackets, other quotes, NAME(KEY=VALUE) are
// tolerated. If the arguments cannot be read, they are the text, as a string. None if there is no
// name.
std::vector<std::string> read_gemma(std::string_view body, const ToolTypes& types);

// The JSON of the calls NAME(KEY=VALUE, …) in a list, with or without its brackets, or one a line.
// A part that is no call is left out; after it, only calls of functions that `types` has count.
// `only_known`: no part may be anything else than a call of such a function.
std::vector<std::string> read_pythonic(std::string_view body, const ToolTypes& types,
                                       bool only_known = false);

}  // namespace cascade
