// The calls of past answers, for chat templates.
#pragma once

#include <string>

#include "base/json.h"

namespace cascade {

// A member that is text; empty if it is missing, or something else.
std::string text_member(const OrderedJson& object, const char* key);

// A member of a message: what the ids of the calls in its content begin with.
inline constexpr const char* kCallIdPrefix = "call_id_prefix";

// Moves the calls that the content of an assistant's message has as text
// (base/tool_call_parser.h) to its tool_calls, in OpenAI's form, and removes kCallIdPrefix. A
// message that has tool_calls, or no call in its content, stays as it is otherwise.
void calls_from_content(OrderedJson& message);

// Gives the results of calls the id ("tool_call_id") and the function ("name") of the call that
// they belong to, where they have none, and calls without an id an id. A result without an id, or
// with one that no call has, belongs to the first call before it that has no result yet.
void name_results(OrderedJson& messages);

}  // namespace cascade
