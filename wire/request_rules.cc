// Rules of requests: composition, sampling ranges, stop strings.
#include "wire/request_rules.h"

#include <string>
#include <unordered_set>
#include <utility>

#include "base/attention_mode.h"
#include "base/model_name.h"
#include "base/utf8.h"
#include "wire/conversation_rules.h"

namespace cascade::wire {
namespace {

Status check_id(const std::string& field, const std::string& id) {
  if (id.empty()) return invalid_argument(field, "must not be empty");
  if (id.size() <= kIdBytesMax) return {};
  return invalid_argument(field, "has " + std::to_string(id.size()) +
                                     " bytes, more than the limit of " +
                                     std::to_string(kIdBytesMax));
}

// system? (context | output)* query?
Status check_chunks(const std::vector<ChunkRef>& chunks) {
  for (size_t i = 0; i < chunks.size(); ++i) {
    const ChunkRef& chunk = chunks[i];
    if (chunk.id.empty() == chunk.text.empty()) {
      return invalid_argument(element("chunks", i, ""), "must have either an id or a text");
    }
    if (!chunk.id.empty()) RETURN_IF_ERROR(check_id(element("chunks", i, ".id"), chunk.id));
    const bool last = i + 1 == chunks.size();
    if (chunk.type == ChunkType::kQuery && !last) {
      return invalid_argument(element("chunks", i, ".type"), "a query must be the last chunk");
    }
    if (chunk.type == ChunkType::kSystemPrompt && i != 0) {
      return invalid_argument(element("chunks", i, ".type"), "a system prompt must be first");
    }
  }
  return {};
}

Status check_tools(const GenerateRequest& request) {
  RETURN_IF_ERROR(check_tool_calls(request.messages));
  if (!request.tools.empty() && request.messages.empty()) {
    return invalid_argument("tools", "is only allowed together with messages");
  }
  return check_json_array("tools", request.tools);
}

Status check_continuation(const GenerateRequest& request) {
  if (!request.continue_final_message.value_or(false)) return {};
  if (request.messages.empty()) {
    return invalid_argument("continue_final_message", "is only allowed together with messages");
  }
  if (!request.grammar) return {};
  return invalid_argument("continue_final_message",
                          "cannot be set with grammar, which applies from the beginning of the "
                          "answer");
}

// NaN is outside every range.
Status check_range(const std::string& field, const std::optional<double>& value, double min,
                   double max, bool min_excluded) {
  if (!value.has_value()) return {};
  const bool above = min_excluded ? *value > min : *value >= min;
  if (above && *value <= max) return {};
  const std::string low = std::to_string(static_cast<int>(min));
  return invalid_argument("sampling." + field,
                          "must be " + (min_excluded ? "above " + low : "at least " + low) +
                              " and at most " + std::to_string(static_cast<int>(max)) + ", got " +
                              std::to_string(*value));
}

Status check_logit_bias(const std::vector<LogitBias>& biases) {
  if (biases.size() > kLogitBiasesMax) {
    return invalid_argument("sampling.logit_bias", "has " + std::to_string(biases.size()) +
                                                       " tokens, more than the limit of " +
                                                       std::to_string(kLogitBiasesMax));
  }
  std::unordered_set<int32_t> tokens;
  for (const LogitBias& entry : biases) {
    const std::string name = "logit_bias[" + std::to_string(entry.token) + "]";
    if (entry.token < 0) {
      return invalid_argument("sampling." + name, "a token id must not be negative");
    }
    if (!tokens.insert(entry.token).second) {
      return invalid_argument("sampling." + name, "occurs twice");
    }
    RETURN_IF_ERROR(check_range(name, entry.bias, -kLogitBiasMax, kLogitBiasMax, false));
  }
  return {};
}

Status check_sampling(const SamplingParams& sampling) {
  RETURN_IF_ERROR(check_range("temperature", sampling.temperature, 0, kTemperatureMax, false));
  RETURN_IF_ERROR(check_range("top_p", sampling.top_p, 0, 1, false));
  RETURN_IF_ERROR(check_range("min_p", sampling.min_p, 0, 1, false));
  RETURN_IF_ERROR(check_range("repetition_penalty", sampling.repetition_penalty, 0,
                              kRepetitionPenaltyMax, true));
  RETURN_IF_ERROR(check_range("presence_penalty", sampling.presence_penalty, -kPresencePenaltyMax,
                              kPresencePenaltyMax, false));
  RETURN_IF_ERROR(check_range("frequency_penalty", sampling.frequency_penalty, -kPresencePenaltyMax,
                              kPresencePenaltyMax, false));
  RETURN_IF_ERROR(check_logit_bias(sampling.logit_bias));
  const int32_t top_k = sampling.top_k.value_or(0);
  if (top_k >= 0 && top_k <= kTopKMax) return {};
  return invalid_argument("sampling.top_k", "must be between 0 and " + std::to_string(kTopKMax) +
                                                ", got " + std::to_string(top_k));
}

Status check_stop(const std::vector<std::string>& stop) {
  if (stop.size() > kStopStringsMax) {
    return invalid_argument("stop", "has " + std::to_string(stop.size()) +
                                        " strings, more than the limit of " +
                                        std::to_string(kStopStringsMax));
  }
  for (size_t i = 0; i < stop.size(); ++i) {
    if (!stop[i].empty() && stop[i].size() <= kStopBytesMax) continue;
    return invalid_argument(element("stop", i, ""),
                            "must have between 1 and " + std::to_string(kStopBytesMax) + " bytes");
  }
  return {};
}

// Checks only the length; the scheduler reads the mode, and repeats in its error what it cannot
// read.
Status check_attention(const std::optional<std::string>& mode) {
  if (!mode || mode->size() <= kAttentionBytesMax) return {};
  return invalid_argument("attention", "has " + std::to_string(mode->size()) +
                                           " bytes, more than the limit of " +
                                           std::to_string(kAttentionBytesMax) + "; must be " +
                                           std::string(kAttentionForms));
}

Status check_top_logprobs(const GenerateRequest& request) {
  const int32_t count = request.top_logprobs;
  if (count < 0 || count > kTopLogprobsMax) {
    return invalid_argument("top_logprobs", "must be between 0 and " +
                                                std::to_string(kTopLogprobsMax) + ", got " +
                                                std::to_string(count));
  }
  if (count == 0 || request.logprobs) return {};
  return invalid_argument("top_logprobs", "is only allowed together with logprobs");
}

template <class T>
Status check_between(const std::string& field, const std::optional<T>& value, T min, T max) {
  if (!value.has_value() || (*value >= min && *value <= max)) return {};
  return invalid_argument(field, "must be between " + std::to_string(min) + " and " +
                                     std::to_string(max) + ", got " + std::to_string(*value));
}

// Names may have no control characters, because they are shown in one line of a terminal.
Status check_name(const std::string& field, const std::string& name) {
  if (name.size() > kNameBytesMax) {
    return invalid_argument(field, "has " + std::to_string(name.size()) +
                                       " bytes, more than the limit of " +
                                       std::to_string(kNameBytesMax));
  }
  if (!is_utf8(name)) return invalid_argument(field, "is not UTF-8");
  for (size_t at = 0; at < name.size();) {
    const CodePoint next = utf8_decode(name, at);
    const bool control = next.value < 0x20 || (next.value >= 0x7F && next.value < 0xA0);
    if (control) {
      return invalid_argument(field, "has a control character at byte " + std::to_string(at));
    }
    at += next.size;
  }
  return {};
}

// The settings that a request may give to a chunk, in whichever message. In errors, the names of
// the fields follow `prefix`.
struct GivenSettings {
  const std::optional<std::string>& name;
  const std::optional<int64_t>& ttl_ms;
  const std::optional<int32_t>& priority;
  const std::optional<int64_t>& priority_ms;
};

Status check_settings(const std::string& prefix, const GivenSettings& given) {
  RETURN_IF_ERROR(check_name(prefix + "name", given.name.value_or("")));
  RETURN_IF_ERROR(check_between<int64_t>(prefix + "ttl_ms", given.ttl_ms, 0, kDurationMsMax));
  RETURN_IF_ERROR(
      check_between<int32_t>(prefix + "priority", given.priority, 0, kChunkPriorityMax));
  RETURN_IF_ERROR(
      check_between<int64_t>(prefix + "priority_ms", given.priority_ms, 1, kDurationMsMax));
  if (!given.priority_ms.has_value() || given.priority.has_value()) return {};
  return invalid_argument(prefix + "priority_ms",
                          "is only allowed together with " + prefix + "priority");
}

Status check_retention(const GenerateRequest& request) {
  RETURN_IF_ERROR(check_settings("output_", {request.output_name, request.output_ttl_ms,
                                             request.output_priority, request.output_priority_ms}));
  const std::pair<const char*, bool> given[] = {
      {"output_name", request.output_name.has_value()},
      {"output_pinned", request.output_pinned.has_value()},
      {"output_ttl_ms", request.output_ttl_ms.has_value()},
      {"output_priority", request.output_priority.has_value()},
      {"client_data", !request.client_data.empty()}};
  for (const auto& [field, there] : given) {
    if (there && !request.retain_output && request.session.empty()) {
      return invalid_argument(field, "is only allowed together with retain_output");
    }
  }
  if (request.client_data.size() > kClientDataBytesMax) {
    return invalid_argument("client_data", "has " + std::to_string(request.client_data.size()) +
                                               " bytes; the limit is " +
                                               std::to_string(kClientDataBytesMax));
  }
  RETURN_IF_ERROR(
      check_between<int32_t>("prompt_priority", request.prompt_priority, 0, kChunkPriorityMax));
  RETURN_IF_ERROR(
      check_between<int64_t>("prompt_priority_ms", request.prompt_priority_ms, 1, kDurationMsMax));
  if (request.prompt_priority.has_value() == request.prompt_priority_ms.has_value()) return {};
  const bool priority = request.prompt_priority.has_value();
  return invalid_argument(priority ? "prompt_priority_ms" : "prompt_priority",
                          priority ? "must be set with prompt_priority: how long it holds"
                                   : "must be set with prompt_priority_ms");
}

Status check_session(const GenerateRequest& request) {
  if (request.session.empty() || !request.chunks.empty()) {
    return check_name("session", request.session);
  }
  return invalid_argument("session",
                          "is only allowed together with chunks: it adds its turns to them");
}

Status check_previous(const GenerateRequest& request) {
  if (!request.previous_output.empty()) {
    RETURN_IF_ERROR(check_id("previous_output", request.previous_output));
    const bool raw = request.prompt || !request.prompt_token_ids.empty();
    if (raw || !request.session.empty()) {
      return invalid_argument("previous_output",
                              "is only allowed together with chunks or messages, and without a "
                              "session");
    }
  }
  if (request.on_overflow && request.chunks.empty() && request.messages.empty()) {
    return invalid_argument("on_overflow",
                            "is only allowed together with chunks or messages: a raw prompt has no "
                            "turns that could be left out");
  }
  if (request.parents.empty()) return {};
  if (request.messages.empty() || !request.retain_output) {
    return invalid_argument("parents", "are only allowed together with messages and retain_output");
  }
  if (request.parents.size() > kParentIdsMax) {
    return invalid_argument("parents", "has " + std::to_string(request.parents.size()) +
                                           " elements; the limit is " +
                                           std::to_string(kParentIdsMax));
  }
  for (size_t i = 0; i < request.parents.size(); ++i) {
    RETURN_IF_ERROR(check_id(element("parents", i, ""), request.parents[i]));
  }
  return {};
}

Status check_grammar(const GenerateRequest& request) {
  if (!request.grammar) return {};
  const std::string& schema = request.grammar->schema;
  const bool wanted = request.grammar->kind != GrammarKind::kJsonObject;
  if (wanted == schema.empty()) {
    return invalid_argument("grammar.schema",
                            wanted ? "must not be empty" : "must be empty: json_object has none");
  }
  if (schema.size() > kGrammarBytesMax) {
    return invalid_argument("grammar.schema", "has " + std::to_string(schema.size()) +
                                                  " bytes, more than the limit of " +
                                                  std::to_string(kGrammarBytesMax));
  }
  if (!request.ignore_eos) return {};
  return invalid_argument("ignore_eos", "cannot be set with grammar: the answer ends with it");
}

Status check_session_id(const std::string& id) {
  if (id.empty()) return invalid_argument("id", "must not be empty");
  return check_name("id", id);
}

Status check_not_negative(const char* field, int64_t value) {
  if (value >= 0) return {};
  return invalid_argument(field, "must not be negative, got " + std::to_string(value));
}

// Checks a request that has its prompt as chunks, messages or raw text, or as `token_ids`.
template <class R>
Status check_prompt(const R& request, bool token_ids = false) {
  const int prompts = (request.chunks.empty() ? 0 : 1) + (request.messages.empty() ? 0 : 1) +
                      (request.prompt.has_value() ? 1 : 0) + (token_ids ? 1 : 0);
  if (prompts != 1) {
    return invalid_argument("prompt",
                            "exactly one of chunks, messages and prompt (or prompt_token_ids) must "
                            "be given");
  }
  if (request.prompt.has_value() && request.prompt->empty()) {
    return invalid_argument("prompt", "must not be empty");
  }
  if (!request.chunks.empty()) RETURN_IF_ERROR(check_chunks(request.chunks));
  RETURN_IF_ERROR(check_roles(request.messages));
  return check_not_negative("timeout_ms", request.timeout_ms);
}

Status check_list_limit(int32_t limit) {
  if (limit >= 1 && limit <= kListLimitMax) return {};
  return invalid_argument("limit", "must be between 1 and " + std::to_string(kListLimitMax) +
                                       ", got " + std::to_string(limit));
}

Status check_path(const char* field, const std::string& path) {
  const bool plain = path.find('\0') == std::string::npos;
  if (path.starts_with('/') && path.size() <= kPathBytesMax && plain) return {};
  return invalid_argument(
      field, "must be an absolute path of at most " + std::to_string(kPathBytesMax) + " bytes");
}

}  // namespace

Status check_request(const GenerateRequest& request) {
  RETURN_IF_ERROR(check_prompt(request, !request.prompt_token_ids.empty()));
  RETURN_IF_ERROR(check_continuation(request));
  if (!request.messages.empty()) {
    RETURN_IF_ERROR(check_last_message(request.messages, request.continue_final_message));
  }
  RETURN_IF_ERROR(check_not_negative("max_tokens", request.max_tokens));
  RETURN_IF_ERROR(check_sampling(request.sampling));
  RETURN_IF_ERROR(check_top_logprobs(request));
  RETURN_IF_ERROR(check_retention(request));
  RETURN_IF_ERROR(check_session(request));
  RETURN_IF_ERROR(check_previous(request));
  RETURN_IF_ERROR(check_tools(request));
  if (request.delta_credit) {
    RETURN_IF_ERROR(
        check_between<int32_t>("delta_credit", *request.delta_credit, 0, kDeltaCreditMax));
  }
  RETURN_IF_ERROR(check_grammar(request));
  RETURN_IF_ERROR(check_reasoning_effort("reasoning_effort", request.reasoning_effort));
  RETURN_IF_ERROR(check_attention(request.attention));
  return check_stop(request.stop);
}

Status check_request(const ChunkListRequest& request) {
  RETURN_IF_ERROR(check_list_limit(request.limit));
  return request.after.empty() ? Status() : check_id("after", request.after);
}

Status check_request(const ChunkSearch& request) {
  RETURN_IF_ERROR(check_list_limit(request.limit));
  if (!request.query.empty() && request.query.size() <= kSearchBytesMax) return {};
  return invalid_argument("query", "must have 1 to " + std::to_string(kSearchBytesMax) +
                                       " bytes, has " + std::to_string(request.query.size()));
}

Status check_request(const ChunkGet& request) {
  return check_id("id", request.id);
}

Status check_request(const ChunkDelete& request) {
  RETURN_IF_ERROR(check_id("id", request.id));
  if (request.all.value_or(false) && !request.name.empty()) {
    return invalid_argument("all", "gives up every holder; leave out either all or name");
  }
  return check_name("name", request.name);
}

Status check_request(const ChunkPut& request) {
  if (request.text.empty() == request.token_ids.empty()) {
    return invalid_argument(request.text.empty() ? "text" : "token_ids",
                            "exactly one of text and token_ids must be given and not be empty");
  }
  return check_settings("", {request.name, request.ttl_ms, request.priority, request.priority_ms});
}

Status check_request(const ChunkUpdate& request) {
  RETURN_IF_ERROR(check_id("id", request.id));
  const bool changes = request.name || request.pinned || request.ttl_ms || request.priority ||
                       request.priority_ms || request.published || request.touch;
  if (!changes) return invalid_argument("body", "names no change");
  return check_settings("", {request.name, request.ttl_ms, request.priority, request.priority_ms});
}

Status check_request(const PrefixCache& request) {
  RETURN_IF_ERROR(check_prompt(request));
  RETURN_IF_ERROR(check_tool_calls(request.messages));
  RETURN_IF_ERROR(check_reasoning_effort("reasoning_effort", request.reasoning_effort));
  if (request.chunks.empty() || request.chunks.back().type != ChunkType::kQuery) return {};
  return invalid_argument(element("chunks", request.chunks.size() - 1, ".type"),
                          "a prefix must not have a query");
}

Status check_request(const PrefixAttach& request) {
  return check_id("id", request.id);
}

Status check_request(const PrefixRelease& request) {
  return check_id("id", request.id);
}

Status check_request(const SessionListRequest& request) {
  return check_list_limit(request.limit);
}

Status check_request(const SessionGet& request) {
  return check_session_id(request.id);
}

Status check_request(const SessionDelete& request) {
  return check_session_id(request.id);
}

Status check_request(const PolicySet& request) {
  return check_between<int64_t>("ttl_ms", request.ttl_ms, 0, kDurationMsMax);
}

Status check_request(const FsckRequest& request) {
  return request.state_dir.empty() ? Status() : check_path("state_dir", request.state_dir);
}

Status check_request(const BackupRequest& request) {
  RETURN_IF_ERROR(check_path("directory", request.directory));
  return request.state_dir.empty() ? Status() : check_path("state_dir", request.state_dir);
}

Status check_request(const TokenizeRequest& request) {
  return request.text.empty() ? invalid_argument("text", "must not be empty") : Status();
}

Status check_request(const DetokenizeRequest& request) {
  if (!request.token_ids.empty()) return {};
  return invalid_argument("token_ids", "must not be empty");
}

Status check_request(const ApplyTemplateRequest& request) {
  if (request.messages.empty()) return invalid_argument("messages", "must not be empty");
  RETURN_IF_ERROR(check_roles(request.messages));
  RETURN_IF_ERROR(check_last_message(request.messages, request.continue_final_message));
  RETURN_IF_ERROR(check_tool_calls(request.messages));
  RETURN_IF_ERROR(check_reasoning_effort("reasoning_effort", request.reasoning_effort));
  return check_json_array("tools", request.tools);
}

Status check_request(const DeltaCredit& request) {
  return check_between<int32_t>("deltas", request.deltas, 1, kDeltaCreditMax);
}

Status check_request(const EventsRequest& request) {
  RETURN_IF_ERROR(check_between<int64_t>("after", request.after, 0, INT64_MAX));
  if (!request.boot_id.empty()) RETURN_IF_ERROR(check_id("boot_id", request.boot_id));
  return check_list_limit(request.limit);
}

Status check_model_name(const std::string& field, const std::string& name) {
  return is_model_name(name) ? Status() : invalid_argument(field, kModelNameRule);
}

Status check_request(const ModelLoad& request) {
  return check_model_name("name", request.name);
}

Status check_request(const ModelUnload& request) {
  return check_model_name("name", request.name);
}

}  // namespace cascade::wire
