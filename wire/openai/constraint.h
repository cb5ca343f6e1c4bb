// What an answer must be, as OpenAI's API says it, turned into a grammar of ours.
#pragma once

#include <string>

#include "wire/messages.h"
#include "wire/openai/api_error.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// response_format, or text.format.
struct AnswerFormat {
  enum class Kind { kText, kJsonObject, kJsonSchema } kind = Kind::kText;
  OrderedJson schema;        // kJsonSchema
  std::string param;         // which field asked for it
  std::string schema_param;  // kJsonSchema: where the schema stands
};

// Reads {"type":"text"|"json_object"|"json_schema"}; `nested`: the schema is in a member
// "json_schema", as in chat completions, or beside the type, as in responses. `format` may be null.
// Errors are left in `fields`.
AnswerFormat read_format(Fields& fields, const OrderedJson* format, const std::string& param,
                         bool nested);

struct ToolUse;

// Sets request.grammar: to calls alone if one is demanded; to the format; or, if there are tools
// and a format, to either of them. Returns the field that the grammar comes from ("": none), for
// grammar_error().
std::string constrain(const ToolUse& tools, const AnswerFormat& format,
                      wire::GenerateRequest& request);

// An error in the field `grammar` of a request, as one of the field that asked for it: its param is
// where the schema stands in the client's request, and its message begins with the place within,
// as "tools[1].function.parameters#/properties/age: ...".
ApiError grammar_error(ApiError error, const std::string& grammar_param);

}  // namespace cascade::openai
