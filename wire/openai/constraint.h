// Turns the form that an answer must have into a grammar of ours.
#pragma once

#include <string>

#include "wire/messages.h"
#include "wire/openai/answer_format.h"
#include "wire/openai/api_error.h"

namespace cascade::openai {

struct ToolUse;

// Sets request.grammar: to calls alone if a call is demanded; to the format; or, if there are both
// tools and a format, to either calls or the format. Returns the field that the grammar comes from
// ("": there is no grammar), for grammar_error().
std::string constrain(const ToolUse& tools, const AnswerFormat& format,
                      wire::GenerateRequest& request);

// Turns an error in a request's field `grammar` into an error in the field that asked for the
// grammar. The error's param is the place of the schema in the client's request, and its message
// begins with the place within the schema, as in "tools[1].function.parameters#/properties/age:
// ...". If the calls of all tools together are too much, the message ends with what can be done.
ApiError grammar_error(ApiError error, const std::string& grammar_param);

}  // namespace cascade::openai
