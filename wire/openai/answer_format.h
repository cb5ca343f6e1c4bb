// What an answer must be, as OpenAI's API says it, and as other servers do.
#pragma once

#include <string>

#include "wire/openai/fields.h"

namespace cascade::openai {

struct AnswerFormat {
  enum class Kind { kText, kJsonObject, kJsonSchema, kChoice } kind = Kind::kText;
  OrderedJson schema;        // kJsonSchema; kChoice: an array of the texts that it may be
  std::string param;         // which field asked for it
  std::string schema_param;  // kJsonSchema: where the schema stands
};

// All: errors are left in `fields`.

// Reads {"type":"text"|"json_object"|"json_schema"} at `param`; `nested`: the schema is in a member
// "json_schema", as in chat completions, or beside the type, as in responses. A schema beside the
// type is taken in both, and with "json_object" too, as by llama.cpp. `format` may be null.
AnswerFormat read_format(Fields& fields, const OrderedJson* format, const std::string& param,
                         bool nested);

// The format of a request: `own`, which was read already, or what other servers call it:
// llama.cpp's json_schema, vLLM's structured_outputs, guided_json and guided_choice, Ollama's
// format; chat completions' response_format and responses' text.format in any request. Only one of
// them may be given.
// Those that cannot be held to, as grammars and regular expressions, are refused.
AnswerFormat read_answer_format(Fields& fields, AnswerFormat own);

}  // namespace cascade::openai
