// The limits of an answer. They let a reply, and the chunk that is kept of it, fit into a message
// (wire/limits.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "actors/scheduler/request.h"
#include "base/result.h"
#include "model/tokenizer.h"

namespace cascade {

// Checks that the reply has room for `top_logprobs` log-probabilities at each place of an answer of
// up to `max_tokens` tokens. Error kInvalidArgument, field "top_logprobs", which says how many
// there is room for.
Status check_top_logprobs(int64_t top_logprobs, int64_t max_tokens);

// Checks the length of `begun`, the text of the request's last message if the answer goes on with
// that message: the text becomes a part of the answer. Error kInvalidArgument, field "messages".
Status check_begun(const std::string& begun);

// The text of a prompt that came as token ids, as it is kept with the output. Error
// kInvalidArgument, field "prompt_token_ids", if it is too long to be kept.
Result<std::string> kept_prompt(const Tokenizer& tokenizer, std::span<const int32_t> token_ids);

// Whether the answer, which has begun, has reached the limit of its text or of its think spans.
// Such an answer ends.
bool is_full(const Request& request);

}  // namespace cascade
