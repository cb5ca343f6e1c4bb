// The calls of past answers, for chat templates.
#pragma once

#include <string>

#include "base/json.h"

namespace cascade {

// A member that is text; empty if it is missing, or something else.
std::string text_member(const OrderedJson& object, const char* key);

// Moves the calls that the content of an assistant's message has as text
// (base/tool_call_parser.h) to its tool_calls, in OpenAI's form. A message that has tool_calls, or
// no call in its content, stays as it is.
void calls_from_content(OrderedJson& message);

// Gives the results of calls the id ("tool_call_id") and the function ("name") of the call that
// they belong to, where they have none: a result without an id belongs to the first call before it
// that has no result yet.
void name_results(OrderedJson& messages);

}  // namespace cascade
