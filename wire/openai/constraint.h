// What an answer must be, turned into a grammar of ours.
#pragma once

#include <string>

#include "wire/messages.h"
#include "wire/openai/answer_format.h"
#include "wire/openai/api_error.h"

namespace cascade::openai {

struct ToolUse;

// Sets request.grammar: to calls alone if one is demanded; to the format; or, if there are tools
// and a format, to either of them. Returns the field that the grammar comes from ("": none), for
// grammar_error().
std::string constrain(const ToolUse& tools, const AnswerFormat& format,
                      wire::GenerateRequest& request);

// An error in the field `grammar` of a request, as one of the field that asked for it: its param is
// where the schema stands in the client's request, and its message begins with the place within,
// as "tools[1].function.parameters#/properties/age: ...". Where the calls of all tools are too
// much, it ends with what can be done.
ApiError grammar_error(ApiError error, const std::string& grammar_param);

}  // namespace cascade::openai
