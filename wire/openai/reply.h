// What all replies about a generation say.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "wire/messages.h"
#include "wire/openai/choices.h"

namespace cascade::openai {

struct ReplyContext {
  std::string id;
  std::string model;
  std::string fingerprint;  // of build and model; with equal ones, a seed gives equal answers
  int64_t created = 0;      // Unix time, seconds
};

// {"prompt_tokens",…,"prompt_tokens_details":{"cached_tokens"},…}: every token that was reused
// counts, where OpenAI counts from 1,024 on.
OrderedJson encode_usage(const wire::Usage& usage);

// Milliseconds, as llama.cpp's server names them, and ours.
OrderedJson encode_timings(const wire::Final& final);
// Sets "missing" of `reply` to what the answer had to do without, if there is anything:
// [{"id","reason"}].
void add_missing(OrderedJson& reply, const wire::Final& final);

// Adds what each answer took (timings), what it had to do without, and its output_id if there is
// one: to a reply with one choice, or else to each choice.
void add_work(OrderedJson& reply, std::span<const Answer> answers);

// "stop", "length" or, if the answer calls tools, "tool_calls". If an incomplete call was left out
// (ToolCallParser), it is "length", whatever cut the call.
std::string finish_reason(const wire::Final& final, bool calls, bool half_call = false);
// Whether the answer did not end by itself.
inline bool is_cut(const wire::Final& final) {
  return final.finish_reason != "stop";
}

// {"id","object":"model","loaded",…}. `status` is that of the default model.
OrderedJson encode_model(const wire::ModelInfo& info, const wire::StatusReply& status,
                         int64_t created);

}  // namespace cascade::openai
