// Calls whose arguments are JSON, in other frames than the common one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tool_types.h"

namespace cascade {

// The JSON (model/calls/call_json.h) of the calls in `body`: an object {"name":…,"arguments":…}, or
// a list of them. The arguments may be called "parameters", and may be JSON as a string. None if
// this is not what it is.
std::vector<std::string> read_call_list(std::string_view body);

// The call that Mistral wrote after [TOOL_CALLS]: NAME[ARGS]{…}, NAME[CALL_ID]ID[ARGS]{…}, or a
// list. Arguments that are no JSON are what the model wrote, as a string. None without arguments.
std::vector<std::string> read_mistral(std::string_view body);

// The call of Llama 3, {"name":…,"parameters":…}, or NAME.call(KEY=VALUE). The function must be one
// of `types`, because other answers may be JSON, too.
std::vector<std::string> read_llama3(std::string_view body, const ToolTypes& types);

}  // namespace cascade
