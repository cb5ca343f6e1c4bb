// What all replies about a generation say.
#pragma once

#include <cstdint>
#include <optional>
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
  std::string fingerprint;  // of build and model; if it is equal, a seed gives equal answers
  int64_t created = 0;      // Unix time, seconds
};

// {"prompt_tokens",…,"prompt_tokens_details":{"cached_tokens"},…}: every reused token counts,
// whereas OpenAI counts them from 1,024 on.
OrderedJson encode_usage(const wire::Usage& usage);

// What a prompt lacks of its conversation, and what it has in its place.
struct LeftOutFacts {
  const std::optional<LeftOut>& left_out;
  const std::vector<Retrieved>& retrieved;
  const std::optional<Summarised>& summarised;
};
// Adds "left_out", what the prompt lacks for lack of room: {"turns","steps"}; "retrieved", the
// turns of which parts came back: [{"id","tokens"}]; and "summarised", the summaries that stand in
// for it: {"turns","ids"}. Leaves out what is empty.
void add_left_out(OrderedJson& reply, const LeftOutFacts& facts);
// Adds "attention", the mode that was used, what add_left_out() adds, and "retrieved_text", unless
// they are empty.
void add_prompt_facts(OrderedJson& reply, const wire::Final& final);
// Adds the answer's timings, the facts of its prompt, and "missing", a list of what it had to do
// without, unless that is empty: [{"id","reason"}].
void add_work(OrderedJson& reply, const wire::Final& final);

// Adds each answer's work, and its output_id if there is one. They go into the reply if it has one
// choice, or else into each choice.
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
