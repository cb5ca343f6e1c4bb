// The errors are worded as clients of OpenAI's API know them.
#include "actors/scheduler/prompt_size.h"

#include <algorithm>
#include <string>
#include <utility>

#include "wire/limits.h"

namespace cascade {
namespace {

int64_t bytes_of(const std::vector<ChatMessage>& messages, const wire::GenerateRequest& params) {
  auto bytes = static_cast<int64_t>(params.prompt_token_ids.size()) * kBytesPerToken;
  if (bytes == 0) bytes = static_cast<int64_t>(params.prompt.value_or("").size());
  for (const ChatMessage& message : messages) bytes += message_bytes(message);
  return bytes;
}

// Names in plain words what part of the request is to be made shorter.
std::string prompt_name(const Request& request) {
  const std::string field = prompt_field(request.params);
  return field == "prompt_token_ids" ? "prompt" : field;
}

std::string in_tokens(int64_t tokens) {
  return std::to_string(tokens) + " tokens, and an answer takes at least one more";
}

Error too_long(Request& request, ErrorCode code, const std::string& limit, int64_t room,
               const std::string& size) {
  request.room_tokens = room;
  const std::string name = prompt_name(request);
  const bool one = name == "prompt";
  std::string text = limit + " maximum context length is " + std::to_string(room) +
                     " tokens. However, your " + name + (one ? " has " : " have ") + size +
                     ". Please reduce the length of the " + name + ".";
  if (request.on_overflow != OnOverflow::kError) {
    text +=
        " No more turns can be left out: the system prompt, the tools and the newest turn always "
        "stay.";
  }
  return {code, prompt_field(request.params), std::move(text)};
}

}  // namespace

int64_t prompt_bytes(const wire::GenerateRequest& params) {
  return bytes_of(params.messages, params);
}

int64_t prompt_bytes(const Request& request) {
  return bytes_of(request.messages, request.params) +
         static_cast<int64_t>(request.begun.size() + request.params.tools.size());
}

int64_t message_bytes(const ChatMessage& message) {
  return static_cast<int64_t>(message.content.size() + message.reasoning.size() +
                              message.tool_calls.size() + message.tool_call_id.size() +
                              message.name.size());
}

int64_t text_bytes_max(const ModelConfig& config) {
  // Tokens of real text have 3 to 5 bytes; runs of blanks may have a hundred.
  constexpr int64_t kTokenBytesMax = 128;
  // Contexts and a query become one string of the message that goes to the tokenizer, so they also
  // have the limit of a string.
  return std::min(kTokenBytesMax * config.context_tokens_max,
                  static_cast<int64_t>(wire::kTextBytesMax));
}

Status check_text_bytes(const ModelConfig& config, std::string_view field, int64_t bytes) {
  const int64_t bytes_max = text_bytes_max(config);
  if (bytes <= bytes_max) return {};
  return invalid_argument(
      std::string(field),
      "has " + std::to_string(bytes) + " bytes; the limit is " + std::to_string(bytes_max));
}

Status check_text_bytes(const ModelConfig& config, Request& request) {
  const int64_t bytes = prompt_bytes(request);
  const int64_t bytes_max = text_bytes_max(config);
  if (bytes <= bytes_max) return {};
  return too_many_bytes(request, bytes, bytes_max, config.context_tokens_max);
}

const char* prompt_field(const wire::GenerateRequest& params) {
  if (!params.prompt_token_ids.empty()) return "prompt_token_ids";
  if (params.prompt) return "prompt";
  return params.chunks.empty() ? "messages" : "chunks";
}

Error too_many_tokens(Request& request, int64_t tokens, int64_t room) {
  return too_long(request, ErrorCode::kInvalidArgument, "This model's", room, in_tokens(tokens));
}

Error too_many_to_hold(Request& request, int64_t tokens, int64_t memory,
                       std::optional<int64_t> disk, int64_t indexed) {
  std::string limit = "With the KV memory that this daemon has (--kv-memory) the";
  if (disk && *disk >= indexed) {
    limit = "This daemon has KV memory (--kv-memory) for " + std::to_string(memory) +
            " tokens, or for the indexes of " + std::to_string(indexed) +
            " tokens that are on disk: the";
  } else if (disk) {
    limit = "This daemon has KV memory (--kv-memory) for " + std::to_string(memory) +
            " tokens, and room on disk (--max-disk and free space) for " + std::to_string(*disk) +
            " tokens: the";
  }
  return too_long(request, ErrorCode::kResourceExhausted, limit, std::max(memory, disk.value_or(0)),
                  in_tokens(tokens));
}

Error window_too_long(const Request& request, int64_t needed, int64_t memory) {
  return resource_exhausted(
      "attention", to_string(request.attention) + " needs KV memory (--kv-memory) for " +
                       std::to_string(needed) + " tokens at a time, and there is room for " +
                       std::to_string(memory) +
                       "; use a shorter prompt, a shorter window, or \"dense\" with a prompt that "
                       "fits, or let the daemon have more memory");
}

Error too_many_bytes(Request& request, int64_t bytes, int64_t bytes_max, int64_t room) {
  return too_long(request, ErrorCode::kInvalidArgument, "This model's", room,
                  std::to_string(bytes) + " bytes; the limit is " + std::to_string(bytes_max));
}

}  // namespace cascade
