// The fields that chat completions, completions and responses have in common.
#pragma once

#include <string>

#include "wire/messages.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// What an answer is to be made of. Not part of wire::GenerateRequest yet: see apply().
struct Constraint {
  enum class Kind { kNone, kJsonObject, kJsonSchema, kToolCall } kind = Kind::kNone;
  std::string schema;    // kJsonSchema: JSON Schema as text
  std::string function;  // kToolCall: that must be called; empty: any
  std::string param;     // which field asked for it
};

// Gives the constraint to the request. Errors: kUnsupported with the param.
Status apply(const Constraint& constraint, wire::GenerateRequest& request);

// Sampling, penalties, seed, stop, timeout_ms, cache controls, thinking, retention.
// Errors are left in `fields`.
void read_generation(Fields& fields, wire::GenerateRequest& request);

// {"type":"text"|"json_object"|"json_schema"}; `nested`: the schema is in a member "json_schema",
// as in chat completions, or beside the type, as in responses.
Constraint read_format(Fields& fields, const OrderedJson* format, const std::string& param,
                       bool nested);

// A cache_control object anywhere in a request: the pages of the prompt are kept for its ttl.
void read_cache_control(Fields& fields, std::string_view key, wire::GenerateRequest& request);

// "none" switches thoughts off, everything else on.
void set_effort(const std::string& effort, wire::GenerateRequest& request);

// Checks the whole request by the rules of the protocol; the fields in errors become params.
Status check_generation(const wire::GenerateRequest& request);

// The param that a field of our protocol is called in OpenAI's: "sampling.top_p" is "top_p".
std::string param_of(const std::string& field);

}  // namespace cascade::openai
