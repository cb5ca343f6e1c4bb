// The size of a request's prompt, and the errors for a prompt that is too large.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "actors/scheduler/request.h"
#include "base/result.h"
#include "model/config.h"

namespace cascade {

// Real text has 3 to 5 bytes a token.
inline constexpr int64_t kBytesPerToken = 3;

// All functions: pure, any thread.

// Returns the bytes of the texts that a prompt is made of; token ids count as kBytesPerToken each.
// For a request as it came, the texts that its chunks stand for are not known and do not count.
int64_t prompt_bytes(const wire::GenerateRequest& params);
int64_t prompt_bytes(const Request& request);
// Returns the bytes of one message's texts.
int64_t message_bytes(const ChatMessage& message);

// Returns how many bytes the texts of a prompt may have, at most. A text that cannot fit the
// context is refused before it is tokenized, which takes time.
int64_t text_bytes_max(const ModelConfig& config);
// Error kInvalidArgument with the field and the limit.
Status check_text_bytes(const ModelConfig& config, std::string_view field, int64_t bytes);
// The error is that of too_many_bytes().
Status check_text_bytes(const ModelConfig& config, Request& request);

// The field that says what the prompt is: "messages", "prompt", "prompt_token_ids" or "chunks".
const char* prompt_field(const wire::GenerateRequest& params);

// Returns the error for a prompt of `tokens` tokens when the model's context has `room` tokens for
// prompt and answer, and sets request.room_tokens. Programs look for the words "maximum context
// length is" and "reduce the length of" to shorten what they send.
Error too_many_tokens(Request& request, int64_t tokens, int64_t room);
// Does the same if the context is long enough, but the KV memory has room for only `memory` tokens,
// and memory and disk together for only `disk` tokens. nullopt: the request must fit memory.
// Memory has room for the indexes of `indexed` tokens (PageSpills::tokens_max()).
Error too_many_to_hold(Request& request, int64_t tokens, int64_t memory,
                       std::optional<int64_t> disk, int64_t indexed);
// Returns the error for a prompt longer than the KV memory whose window, sinks and slices need
// memory for `needed` tokens, when there is room for `memory` tokens.
Error window_too_long(const Request& request, int64_t needed, int64_t memory);
// Does the same as too_many_tokens() for a prompt that is not tokenized because it has more than
// `bytes_max` bytes.
Error too_many_bytes(Request& request, int64_t bytes, int64_t bytes_max, int64_t room);

}  // namespace cascade
