// Usage, timings, log-probabilities, models.
#include "wire/openai/reply.h"

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"

namespace cascade::openai {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

double ms(int64_t us) {
  return static_cast<double>(us) / 1000;
}

// The bytes of a token's text, or null if it is a part of a character.
OrderedJson bytes_of(const std::string& piece) {
  if (piece.find(kReplacement) != std::string::npos) return nullptr;
  OrderedJson bytes = OrderedJson::array();
  for (const char byte : piece) bytes.push_back(static_cast<uint8_t>(byte));
  return bytes;
}

OrderedJson token_entry(const std::string& piece, float logprob) {
  OrderedJson entry;
  entry["token"] = piece;
  entry["logprob"] = logprob;
  entry["bytes"] = bytes_of(piece);
  return entry;
}

// What log-probabilities are shown of.
struct Shown {
  size_t begin, end;  // of the sampled tokens
  size_t tops;        // likely ones at each place
};

Shown shown(const wire::Final& final, std::span<const std::string> pieces) {
  const size_t tokens = final.token_ids.size();
  CHECK(pieces.size() == tokens + final.top_token_ids.size());
  CHECK(final.logprobs.size() == tokens);
  Shown result = {answer_begin(final), tokens,
                  tokens == 0 ? 0 : final.top_token_ids.size() / tokens};
  while (result.end > result.begin && pieces[result.end - 1].empty()) --result.end;
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

OrderedJson encode_timings(const wire::Final& final) {
  OrderedJson result;
  result["cache_n"] = final.usage.reused_tokens;
  result["prompt_n"] = final.usage.prefilled_tokens;
  result["prompt_ms"] = ms(final.timings.prefill_us);
  result["predicted_n"] = final.usage.completion_tokens;
  result["predicted_ms"] = ms(final.timings.decode_us);
  result["queue_ms"] = ms(final.timings.queue_us);
  result["first_token_ms"] = ms(final.timings.first_token_us);
  result["total_ms"] = ms(final.timings.total_us);
  return result;
}

void add_missing(OrderedJson& reply, const wire::Final& final) {
  for (const wire::MissingChunk& missing : final.missing) {
    reply["missing"].push_back({{"id", missing.id}, {"reason", missing.reason}});
  }
}

void add_work(OrderedJson& reply, std::span<const Answer> answers) {
  for (size_t i = 0; i < answers.size(); ++i) {
    OrderedJson& holder = answers.size() == 1 ? reply : reply["choices"][i];
    holder["timings"] = encode_timings(answers[i].final);
    add_missing(holder, answers[i].final);
    const std::string& output = answers[i].final.output_chunk_id;
    if (!output.empty()) holder["output_id"] = output;
  }
}

std::string finish_reason(const wire::Final& final, bool calls, bool half_call) {
  if (final.finish_reason == "length" || half_call) return "length";
  return calls ? "tool_calls" : "stop";
}

std::vector<int32_t> logprob_tokens(const wire::Final& final) {
  std::vector<int32_t> tokens = final.token_ids;
  tokens.insert(tokens.end(), final.top_token_ids.begin(), final.top_token_ids.end());
  return tokens;
}

size_t answer_begin(const wire::Final& final) {
  const auto thoughts = static_cast<size_t>(std::max<int64_t>(0, final.usage.reasoning_tokens));
  return std::min(thoughts, final.token_ids.size());
}

OrderedJson encode_logprobs(const wire::Final& final, std::span<const std::string> pieces) {
  const Shown part = shown(final, pieces);
  OrderedJson content = OrderedJson::array();
  for (size_t i = part.begin; i < part.end; ++i) {
    OrderedJson entry = token_entry(pieces[i], final.logprobs[i]);
    OrderedJson& tops = entry["top_logprobs"] = OrderedJson::array();
    for (size_t k = i * part.tops; k < (i + 1) * part.tops; ++k) {
      tops.push_back(token_entry(pieces[final.token_ids.size() + k], final.top_logprobs[k]));
    }
    content.push_back(std::move(entry));
  }
  OrderedJson result;
  result["content"] = std::move(content);
  result["refusal"] = nullptr;
  return result;
}

OrderedJson encode_text_logprobs(const wire::Final& final, std::span<const std::string> pieces) {
  const Shown part = shown(final, pieces);
  OrderedJson tokens = OrderedJson::array(), logprobs = tokens, tops = tokens, offsets = tokens;
  size_t offset = 0;
  for (size_t i = part.begin; i < part.end; ++i) {
    tokens.push_back(pieces[i]);
    logprobs.push_back(final.logprobs[i]);
    OrderedJson likely = OrderedJson::object();
    for (size_t k = i * part.tops; k < (i + 1) * part.tops; ++k) {
      likely[pieces[final.token_ids.size() + k]] = final.top_logprobs[k];
    }
    tops.push_back(std::move(likely));
    offsets.push_back(offset);
    offset += pieces[i].size();
  }
  OrderedJson result;
  result["tokens"] = std::move(tokens);
  result["token_logprobs"] = std::move(logprobs);
  result["top_logprobs"] = std::move(tops);
  result["text_offset"] = std::move(offsets);
  return result;
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
  meta["weight_type"] = status.weight_type;
  meta["kv_type"] = status.kv_type;
  meta["state"] = info.state;
  meta["format"] = info.format;
  meta["estimated_bytes"] = info.total_bytes;
  return model;
}

}  // namespace cascade::openai
