// Rules of requests: composition, sampling ranges, stop strings.
#include "wire/request_rules.h"

#include <string>

namespace cascade::wire {
namespace {

std::string element(const char* name, size_t index, const char* member) {
  return std::string(name) + "[" + std::to_string(index) + "]" + member;
}

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

Status check_messages(const std::vector<ChatMessage>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "system" || role == "user" || role == "assistant" || role == "tool") continue;
    return invalid_argument(element("messages", i, ".role"),
                            "must be system, user, assistant or tool");
  }
  const std::string& last = messages.back().role;
  if (last == "user" || last == "tool") return {};
  return invalid_argument(element("messages", messages.size() - 1, ".role"),
                          "the last message must be the user's (or a tool's)");
}

// NaN is outside every range.
Status check_range(const char* field, const std::optional<double>& value, double min, double max,
                   bool min_excluded) {
  if (!value.has_value()) return {};
  const bool above = min_excluded ? *value > min : *value >= min;
  if (above && *value <= max) return {};
  const std::string low = std::to_string(static_cast<int>(min));
  return invalid_argument(std::string("sampling.") + field,
                          "must be " + (min_excluded ? "above " + low : "at least " + low) +
                              " and at most " + std::to_string(static_cast<int>(max)) + ", got " +
                              std::to_string(*value));
}

Status check_sampling(const SamplingParams& sampling) {
  RETURN_IF_ERROR(check_range("temperature", sampling.temperature, 0, kTemperatureMax, false));
  RETURN_IF_ERROR(check_range("top_p", sampling.top_p, 0, 1, true));
  RETURN_IF_ERROR(check_range("min_p", sampling.min_p, 0, 1, false));
  RETURN_IF_ERROR(check_range("repetition_penalty", sampling.repetition_penalty, 0,
                              kRepetitionPenaltyMax, true));
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

Status check_not_negative(const char* field, int64_t value) {
  if (value >= 0) return {};
  return invalid_argument(field, "must not be negative, got " + std::to_string(value));
}

}  // namespace

Status check_request(const GenerateRequest& request) {
  const int prompts = (request.chunks.empty() ? 0 : 1) + (request.messages.empty() ? 0 : 1) +
                      (request.prompt.has_value() ? 1 : 0);
  if (prompts != 1) {
    return invalid_argument("prompt", "exactly one of chunks, messages and prompt must be given");
  }
  if (!request.chunks.empty()) RETURN_IF_ERROR(check_chunks(request.chunks));
  if (!request.messages.empty()) RETURN_IF_ERROR(check_messages(request.messages));
  if (request.prompt.has_value() && request.prompt->empty()) {
    return invalid_argument("prompt", "must not be empty");
  }
  RETURN_IF_ERROR(check_not_negative("max_tokens", request.max_tokens));
  RETURN_IF_ERROR(check_not_negative("timeout_ms", request.timeout_ms));
  RETURN_IF_ERROR(check_sampling(request.sampling));
  return check_stop(request.stop);
}

Status check_request(const ChunkListRequest& request) {
  if (request.limit < 1 || request.limit > kListLimitMax) {
    return invalid_argument("limit", "must be between 1 and " + std::to_string(kListLimitMax) +
                                         ", got " + std::to_string(request.limit));
  }
  return request.after.empty() ? Status() : check_id("after", request.after);
}

Status check_request(const ChunkGet& request) {
  return check_id("id", request.id);
}

Status check_request(const ChunkDelete& request) {
  return check_id("id", request.id);
}

}  // namespace cascade::wire
