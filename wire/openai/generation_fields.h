// The fields that chat completions, completions and responses have in common.
#pragma once

#include <optional>
#include <string>

#include "wire/messages.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// Sampling, penalties, seed, stop, timeout_ms, cache controls, thinking, retention.
// Errors are left in `fields`.
void read_generation(Fields& fields, wire::GenerateRequest& request);

// The most tokens that the answer may have; -1 is as many as there is room for. nullopt if absent.
std::optional<int32_t> read_token_limit(Fields& fields, std::string_view key);

// A cache_control object anywhere in a request: the pages of the prompt are kept for its ttl.
void read_cache_control(Fields& fields, std::string_view key, wire::GenerateRequest& request);

// "none" switches thoughts off, everything else on.
void set_effort(const std::string& effort, wire::GenerateRequest& request);

// Checks the whole request by the rules of the protocol; the fields in errors become params.
Status check_generation(const wire::GenerateRequest& request, const std::string& grammar_param);

// The param that a field of our protocol is called in OpenAI's: "sampling.top_p" is "top_p".
// `grammar_param`: what the request's grammar comes from (constrain() in constraint.h).
std::string param_of(const std::string& field, const std::string& grammar_param);

// The same of a field that says what the prompt is: "messages[2].role" is "input" where the client
// gave `prompt_param`, "input", and itself where that is "messages".
std::string prompt_param_of(const std::string& field, const std::string& prompt_param);

}  // namespace cascade::openai
