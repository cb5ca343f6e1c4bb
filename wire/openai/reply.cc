// Usage, timings and models as objects of replies.
#include "wire/openai/reply.h"

namespace cascade::openai {
namespace {

double ms(int64_t us) {
  return static_cast<double>(us) / 1000;
}

// Times in milliseconds, with the names of llama.cpp's server and our own.
OrderedJson encode_timings(const wire::Final& final) {
  OrderedJson result;
  result["cache_n"] = final.usage.reused_tokens;
  result["prompt_n"] = final.usage.prefilled_tokens;
  result["prompt_ms"] = ms(final.timings.prefill_us);
  result["predicted_n"] = final.usage.completion_tokens;
  result["predicted_ms"] = ms(final.timings.decode_us);
  if (final.approximation != Approximation::kNone) {
    result["approximation"] = to_string(final.approximation);
    result["approximate_n"] = final.usage.approximate_tokens;
  }
  if (final.usage.selected_tokens > 0) result["selected_n"] = final.usage.selected_tokens;
  if (final.usage.drafted_tokens > 0) {
    result["draft_n"] = final.usage.drafted_tokens;
    result["draft_n_accepted"] = final.usage.accepted_tokens;
  }
  result["queue_ms"] = ms(final.timings.queue_us);
  result["first_token_ms"] = ms(final.timings.first_token_us);
  result["total_ms"] = ms(final.timings.total_us);
  return result;
}

}  // namespace

OrderedJson encode_usage(const wire::Usage& usage) {
  OrderedJson result;
  result["prompt_tokens"] = usage.prompt_tokens;
  result["completion_tokens"] = usage.completion_tokens;
  result["total_tokens"] = usage.prompt_tokens + usage.completion_tokens;
  result["prompt_tokens_details"]["cached_tokens"] = usage.reused_tokens;
  result["completion_tokens_details"]["reasoning_tokens"] = usage.reasoning_tokens;
  return result;
}

void add_left_out(OrderedJson& reply, const LeftOutFacts& facts) {
  if (const auto& left_out = facts.left_out) {
    reply["left_out"] = {{"turns", left_out->turns}, {"steps", left_out->steps}};
  }
  for (const Retrieved& part : facts.retrieved) {
    reply["retrieved"].push_back({{"id", part.chunk_id}, {"tokens", part.tokens}});
  }
  if (const auto& summarised = facts.summarised) {
    reply["summarised"] = {{"turns", summarised->turns}, {"ids", summarised->chunk_ids}};
  }
}

void add_prompt_facts(OrderedJson& reply, const wire::Final& final) {
  if (!final.attention.empty()) reply["attention"] = final.attention;
  add_left_out(reply, {final.left_out, final.retrieved, final.summarised});
  if (!final.retrieved_text.empty()) reply["retrieved_text"] = final.retrieved_text;
}

void add_work(OrderedJson& reply, const wire::Final& final) {
  reply["timings"] = encode_timings(final);
  add_prompt_facts(reply, final);
  for (const wire::MissingChunk& missing : final.missing) {
    reply["missing"].push_back({{"id", missing.id}, {"reason", missing.reason}});
  }
}

void add_work(OrderedJson& reply, std::span<const Answer> answers) {
  for (size_t i = 0; i < answers.size(); ++i) {
    OrderedJson& holder = answers.size() == 1 ? reply : reply["choices"][i];
    add_work(holder, answers[i].final);
    const std::string& output = answers[i].final.output_chunk_id;
    if (!output.empty()) holder["output_id"] = output;
  }
}

std::string finish_reason(const wire::Final& final, bool calls, bool half_call) {
  if (final.finish_reason == "length" || half_call) return "length";
  return calls ? "tool_calls" : "stop";
}

OrderedJson encode_model(const wire::ModelInfo& info, const wire::StatusReply& status,
                         int64_t created) {
  OrderedJson model;
  model["id"] = info.name;
  model["object"] = "model";
  model["created"] = created;
  model["owned_by"] = "cascade";
  if (info.is_default) model["max_model_len"] = status.context_tokens_max;
  model["loaded"] = info.state == "loaded";
  OrderedJson& meta = model["meta"];
  if (info.is_default) meta["model_type"] = status.model_type;
  const std::string& weights = info.is_default ? status.weight_type : info.weight_type;
  if (!weights.empty()) meta["weight_type"] = weights;
  meta["kv_type"] = status.kv_type;
  meta["state"] = info.state;
  meta["format"] = info.format;
  meta["estimated_bytes"] = info.total_bytes;
  return model;
}

}  // namespace cascade::openai
