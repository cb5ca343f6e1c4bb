// The messages of a conversation, for the chat templates of models that write harmony.
#pragma once

#include "base/json.h"

namespace cascade {

// Changes an array of messages in OpenAI's form to what these templates take:
// - With `calls`, calls in an assistant's text (base/tool_call_parser.h) become its tool_calls.
// - A message has one call. Further calls become messages of their own, each before its result, if
//   that is among the results that follow.
// - Thoughts are under "thinking". The templates write a text beside a call as thoughts and take
//   only one of both, so the text follows the thoughts there.
OrderedJson harmony_messages(const OrderedJson& messages, bool calls);

// Changes tools in OpenAI's form (null: none) to what these templates take, which cannot join text
// with anything else: a description that is missing is empty, and a default beside an enum or oneOf
// that is no text is JSON text.
OrderedJson harmony_tools(const OrderedJson& tools);

}  // namespace cascade
