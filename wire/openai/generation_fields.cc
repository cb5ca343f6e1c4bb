// Ranges are checked by the protocol's own rules (wire/request_rules.h).
#include "wire/openai/generation_fields.h"

#include <algorithm>
#include <charconv>

#include "base/attention_mode.h"
#include "wire/conversation_rules.h"
#include "wire/openai/json_text.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

// The priority of the pages of a prompt with cache_control: above outputs (50), below pages that an
// owner sets to 100.
constexpr int32_t kCachedPriority = 75;
constexpr int64_t kSecondMs = 1000;
constexpr int64_t kDefaultTtlMs = 300 * kSecondMs;  // the meaning of {"type":"ephemeral"} elsewhere
constexpr int64_t kDayMs = int64_t{24} * 3600 * kSecondMs;

constexpr size_t kCacheKeyBytesMax = 1024;

constexpr int64_t kSeedDrawn = -1;  // in llama.cpp, means that any seed will do

// "5m", "1h", "90s", "2d".
std::optional<int64_t> ttl_ms(const std::string& text) {
  int64_t count = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc() || unit + 1 != end || count < 1 || count > 1'000'000) {
    return std::nullopt;
  }
  switch (*unit) {
    case 's': return count * kSecondMs;
    case 'm': return count * 60 * kSecondMs;
    case 'h': return count * 3600 * kSecondMs;
    case 'd': return count * kDayMs;
    default: return std::nullopt;
  }
}

void keep_prompt(int64_t duration_ms, wire::GenerateRequest& request) {
  request.prompt_priority = std::max(request.prompt_priority.value_or(0), kCachedPriority);
  request.prompt_priority_ms = std::max(request.prompt_priority_ms.value_or(0), duration_ms);
}

void read_retention(Fields& fields, wire::GenerateRequest& request) {
  if (const auto retention = fields.text("prompt_cache_retention")) {
    if (*retention == "24h") {
      keep_prompt(kDayMs, request);
    } else if (*retention != "in_memory" && *retention != "in-memory") {
      fields.fail("prompt_cache_retention", "must be \"in_memory\" or \"24h\"");
    }
  }
  // The daemon finds the common beginning of two prompts by comparing their tokens, so it needs no
  // key.
  if (const auto key = fields.text("prompt_cache_key"); key && key->size() > kCacheKeyBytesMax) {
    fields.fail("prompt_cache_key",
                "has more than " + std::to_string(kCacheKeyBytesMax) + " bytes");
  }
  request.reuse = fields.boolean("reuse").value_or(true);
  if (const auto policy = fields.text("think_policy")) {
    request.think_policy = think_policy_from_string(*policy);
    if (!request.think_policy)
      fields.fail("think_policy", "must be reprefill, keep, drop, splice or mask");
  }
  request.heal = fields.boolean("heal");
  request.attention = fields.text("attention");
  // The message repeats the text, so one that is too long is left to the protocol's rules.
  if (request.attention && request.attention->size() <= wire::kAttentionBytesMax) {
    const auto choice = parse_attention(*request.attention);
    if (!choice.ok()) fields.fail("attention", choice.error().message);
  }
  if (const auto choice = fields.text("on_missing")) {
    request.on_missing = on_missing_from_string(*choice);
    if (!request.on_missing) fields.fail("on_missing", "must be error or skip");
  }
  if (const auto choice = fields.text("on_overflow")) {
    request.on_overflow = on_overflow_from_string(*choice);
    if (!request.on_overflow) {
      fields.fail("on_overflow", "must be error, drop_oldest, retrieve or summarize");
    }
  }
  request.output_name = fields.text("output_name");
  request.output_pinned = fields.boolean("output_pinned");
  request.output_ttl_ms = fields.integer("output_ttl_ms", 0, wire::kDurationMsMax);
  if (const auto priority = fields.integer("output_priority", 0, wire::kChunkPriorityMax)) {
    request.output_priority = static_cast<int32_t>(*priority);
  }
}

// Reads the effort for the chat template.
std::optional<std::string> read_template_effort(Fields& fields, std::string_view key,
                                                wire::GenerateRequest& request) {
  const auto effort = fields.text(key);
  if (!effort) return std::nullopt;
  fields.fail(wire::check_reasoning_effort(fields.path(key), effort));
  request.reasoning_effort = effort;
  return effort;
}

void read_thinking(Fields& fields, wire::GenerateRequest& request) {
  read_effort(fields, "reasoning_effort", request);
  if (const auto enabled = fields.boolean("enable_thinking")) request.thinking = *enabled;
  if (const OrderedJson* arguments = fields.object("chat_template_kwargs")) {
    Fields inner(*arguments, fields.path("chat_template_kwargs."));
    if (const auto enabled = inner.boolean("enable_thinking")) request.thinking = *enabled;
    (void)read_template_effort(inner, "reasoning_effort", request);
    for (const auto& [key, value] : arguments->items()) {
      const bool is_passed = key == "enable_thinking" || key == "reasoning_effort";
      if (!is_passed) inner.refuse(key, nullptr, "is not passed to templates");
    }
    fields.fail(inner.status());
  }
}

void read_stop(Fields& fields, wire::GenerateRequest& request) {
  const OrderedJson* given = fields.find("stop");
  if (given == nullptr) return;
  const OrderedJson strings = given->is_array() ? *given : OrderedJson::array({*given});
  for (const OrderedJson& entry : strings) {
    if (!entry.is_string()) return fields.fail("stop", "must be a string or an array of strings");
    // Forms send an empty string for a line that was left empty: it is not a stop string.
    if (entry != "") request.stop.push_back(entry.get<std::string>());
  }
}

void read_logit_bias(Fields& fields, wire::SamplingParams& sampling) {
  const OrderedJson* biases = fields.object("logit_bias");
  if (biases == nullptr) return;
  for (const auto& [key, value] : biases->items()) {
    wire::LogitBias bias;
    const char* const end = key.data() + key.size();
    const auto [stop, error] = std::from_chars(key.data(), end, bias.token);
    if (error != std::errc() || stop != end || !value.is_number()) {
      return fields.fail("logit_bias", "must map token ids to numbers");
    }
    bias.bias = value.get<double>();
    sampling.logit_bias.push_back(bias);
  }
}

void read_sampling(Fields& fields, wire::SamplingParams& sampling) {
  sampling.temperature = fields.number("temperature");
  sampling.top_p = fields.number("top_p");
  sampling.min_p = fields.number("min_p");
  sampling.repetition_penalty = fields.number("repetition_penalty");
  sampling.presence_penalty = fields.number("presence_penalty");
  sampling.frequency_penalty = fields.number("frequency_penalty");
  if (const auto top_k = fields.integer("top_k", -1, wire::kTopKMax)) {
    sampling.top_k = static_cast<int32_t>(std::max<int64_t>(*top_k, 0));  // -1 is off elsewhere
  }
  // OpenAI's seeds are signed.
  const auto seed = fields.integer("seed", INT64_MIN, INT64_MAX);
  if (seed && *seed != kSeedDrawn) sampling.seed = static_cast<uint64_t>(*seed);
  read_logit_bias(fields, sampling);
}

// Refuses fields of other servers that restrict what the answer may contain. Fields that only
// change how tokens are drawn, such as mirostat, are ignored: many clients always send them.
void refuse_other_rules(Fields& fields) {
  constexpr char kNoSuchRule[] = "is not supported, and would change the answer";
  const OrderedJson none = OrderedJson::array();
  for (const char* key : {"stop_token_ids", "bad_words", "allowed_token_ids"}) {
    fields.refuse(key, none, kNoSuchRule);
  }
  fields.refuse("min_tokens", 0, kNoSuchRule);
  fields.refuse("use_beam_search", false, kNoSuchRule);
  fields.refuse("include_stop_str_in_output", false, kNoSuchRule);
  fields.refuse("chat_template", "",
                "cannot be sent: the model's own template is used; cascaded --chat-template "
                "replaces it");
}

}  // namespace

std::optional<int32_t> read_token_limit(Fields& fields, std::string_view key) {
  const auto limit = fields.integer(key, -1, INT32_MAX);
  if (limit == 0) fields.fail(key, "must be at least 1, or -1 for as many as fit");
  if (limit == -1) return INT32_MAX;
  return limit ? std::optional(static_cast<int32_t>(*limit)) : std::nullopt;
}

void read_generation(Fields& fields, wire::GenerateRequest& request) {
  read_sampling(fields, request.sampling);
  read_stop(fields, request);
  request.timeout_ms = fields.integer("timeout_ms", 0, wire::kDurationMsMax).value_or(0);
  request.ignore_eos = fields.boolean("ignore_eos").value_or(false);
  request.stream = fields.boolean("stream").value_or(false);
  read_retention(fields, request);
  read_cache_control(fields, "cache_control", request);
  read_thinking(fields, request);
  refuse_other_rules(fields);
  fields.refuse("cache_salt", "", "caches are separate for each tenant only");
}

void read_cache_control(Fields& fields, std::string_view key, wire::GenerateRequest& request) {
  const OrderedJson* control = fields.object(key);
  if (control == nullptr) return;
  Fields inner(*control, fields.path(key) + ".");
  const auto type = inner.text("type");
  if (type && *type != "ephemeral") inner.fail("type", "must be \"ephemeral\"");
  const auto ttl = inner.text("ttl");
  const std::optional<int64_t> duration = ttl ? ttl_ms(*ttl) : kDefaultTtlMs;
  if (!duration) inner.fail("ttl", "must be a time such as \"5m\" or \"1h\"");
  if (duration) keep_prompt(*duration, request);
  fields.fail(inner.status());
}

std::optional<std::string> read_effort(Fields& fields, std::string_view key,
                                       wire::GenerateRequest& request) {
  const auto effort = read_template_effort(fields, key, request);
  if (effort) request.thinking = *effort != "none";
  return effort;
}

Status check_generation(const wire::GenerateRequest& request, const std::string& grammar_param) {
  Status checked = wire::check_request(request);
  if (checked.ok()) return {};
  const Error& error = checked.error();
  return Error{error.code, param_of(error.field, grammar_param), error.message};
}

std::string prompt_param_of(const std::string& field, const std::string& prompt_param) {
  if (field.starts_with("prompt_token_ids")) return prompt_param;
  return field.starts_with("messages") && prompt_param != "messages" ? prompt_param : field;
}

std::string param_of(const std::string& field, const std::string& grammar_param) {
  if (field.starts_with("grammar")) return grammar_param;
  // Only the Responses API has these fields.
  if (field == "previous_output" || field.starts_with("parents")) return "previous_response_id";
  const std::string prefix = "sampling.";
  if (!field.starts_with(prefix)) return field;
  const std::string name = field.substr(prefix.size());
  return name.starts_with("logit_bias") ? "logit_bias" : name;
}

}  // namespace cascade::openai
