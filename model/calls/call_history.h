// The calls of past answers, for chat templates.
#pragma once

#include "base/json.h"

namespace cascade {

// Moves the calls that the content of an assistant's message has as text
// (base/tool_call_parser.h) to its tool_calls, in OpenAI's form. A message that has tool_calls, or
// no call in its content, stays as it is.
void calls_from_content(OrderedJson& message);

}  // namespace cascade
