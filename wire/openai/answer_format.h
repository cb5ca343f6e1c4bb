// The form that an answer must have, as requests to OpenAI's API and to other servers ask for it.
#pragma once

#include <string>

#include "wire/openai/fields.h"

namespace cascade::openai {

struct AnswerFormat {
  enum class Kind { kText, kJsonObject, kJsonSchema, kChoice } kind = Kind::kText;
  OrderedJson schema;        // kJsonSchema; kChoice: an array of the allowed texts
  std::string param;         // which field asked for it
  std::string schema_param;  // kJsonSchema: where the schema is in the request
};

// All functions leave their errors in `fields`.

// Reads {"type":"text"|"json_object"|"json_schema"} at `param`. `nested`: the schema is in a member
// "json_schema", as in chat completions; otherwise it is beside the type, as in responses. A schema
// beside the type is accepted in both cases, and also with "json_object", as by llama.cpp. `format`
// may be null.
AnswerFormat read_format(Fields& fields, const OrderedJson* format, const std::string& param,
                         bool nested);

// The format of a request: `own`, which was read already, or one under another name. Any request
// may use the names of other servers (llama.cpp's json_schema; vLLM's structured_outputs,
// guided_json and guided_choice; Ollama's format), chat completions' response_format and responses'
// text.format. Only one of them may be given.
// Formats that answers cannot be held to, such as grammars and regular expressions, are refused.
AnswerFormat read_answer_format(Fields& fields, AnswerFormat own);

}  // namespace cascade::openai
