// How much an answer may have, so that a reply, and the chunk that is kept of it, fit a message
// (wire/limits.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "actors/scheduler/request.h"
#include "base/result.h"
#include "model/tokenizer.h"

namespace cascade {

// Whether the reply has room for so many log-probabilities at each place of an answer of up to
// `max_tokens` tokens. Error kInvalidArgument, field "top_logprobs", with what there is room for.
Status check_top_logprobs(int64_t top_logprobs, int64_t max_tokens);

// Whether an answer may go on with this text of the request's last message: it becomes a part of
// the answer. Error kInvalidArgument, field "messages".
Status check_begun(const std::string& begun);

// The text of a prompt that came as token ids, as it is kept with the output. Error
// kInvalidArgument, field "prompt_token_ids", if it is too long to be kept.
Result<std::string> kept_prompt(const Tokenizer& tokenizer, std::span<const int32_t> token_ids);

// Whether the answer, which has begun, has as much text as it may have. It ends then.
bool is_full(const Request& request);

}  // namespace cascade
