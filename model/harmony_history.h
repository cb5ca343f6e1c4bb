// The messages of a conversation, for the chat templates of models that write harmony.
#pragma once

#include "base/json.h"

namespace cascade {

// Changes an array of messages in OpenAI's form to what these templates take:
// - Calls that an assistant's content has as text (base/tool_call_parser.h) become its tool_calls.
// - A message has one call. Further calls become messages of their own, each before its result, if
//   that is among the results that follow.
// - Thoughts are under "thinking". The templates write a text beside a call as thoughts and take
//   only one of both, so the text follows the thoughts there.
OrderedJson harmony_messages(const OrderedJson& messages);

}  // namespace cascade
