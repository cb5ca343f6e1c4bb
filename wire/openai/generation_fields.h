// The fields that chat completions, completions and responses have in common.
#pragma once

#include <optional>
#include <string>

#include "wire/messages.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// Sampling, penalties, seed, stop, timeout_ms, cache controls, attention, thinking, retention.
// Errors are left in `fields`.
void read_generation(Fields& fields, wire::GenerateRequest& request);

// The largest number of tokens that the answer may have; -1 means as many as there is room for.
// nullopt if absent.
std::optional<int32_t> read_token_limit(Fields& fields, std::string_view key);

// Reads a cache_control object, which may be anywhere in a request: the prompt's pages are kept for
// the object's ttl.
void read_cache_control(Fields& fields, std::string_view key, wire::GenerateRequest& request);

// Reads the effort of reasoning. The chat template gets it; "none" also switches thoughts off,
// and everything else switches them on. nullopt if absent.
std::optional<std::string> read_effort(Fields& fields, std::string_view key,
                                       wire::GenerateRequest& request);

// Checks the whole request by the rules of the protocol; the fields in errors become params.
Status check_generation(const wire::GenerateRequest& request, const std::string& grammar_param);

// OpenAI's param for a field of our protocol: "top_p" for "sampling.top_p". `grammar_param`: the
// field that the request's grammar comes from (constrain() in constraint.h).
std::string param_of(const std::string& field, const std::string& grammar_param);

// Does the same for a field that says what the prompt is. If the client gave the prompt in
// `prompt_param` "input", "messages[2].role" becomes "input". If the client gave it in "messages",
// the field stays.
std::string prompt_param_of(const std::string& field, const std::string& prompt_param);

}  // namespace cascade::openai
