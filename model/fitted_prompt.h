// A conversation as a prompt that fits its room: its oldest turns are left out if it is too long.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"
#include "base/result.h"
#include "model/conversation.h"

namespace cascade {

struct FittedPrompt {
  EncodedPrompt prompt;
  LeftOut left_out;
};

// As encode_prompt(), but leaves out what ConversationCuts::choose() says if the prompt has more
// than `room` tokens. When something is left out, the history that stays has at most half of the
// room that system prompt and tools leave. If the prompt does not fit even so, it is returned with
// all left out that may be.
//
// The tokens of messages are counted one by one, and what the template adds is measured with short
// messages. So what is left out depends on messages, system prompt, tools, template and `room`
// alone. If a prompt is longer than was counted, because its template does what short messages do
// not show, more is left out: at most ten prompts are tried.
//
// If the prompt does not fit, `preferred` is left out if that is possible and the rest fits,
// because the caller has computed it. Errors: those of encode_prompt(). Any thread.
Result<FittedPrompt> encode_fitted(const ConversationContext& context,
                                   std::span<const ChatMessage> messages, bool goes_on,
                                   int64_t room, const LeftOut& preferred = {});

struct ShortenedHistory {
  std::vector<int32_t> token_ids;
  LeftOut left_out;  // whole turns
};

// As encode_history(), but leaves out the oldest turns if the history and `next` more tokens are
// longer than `room`: as many as encode_fitted() leaves out of the next prompt. If the newest turn
// alone is longer than what may stay, nothing is left out. Errors and threads as encode_fitted().
Result<ShortenedHistory> encode_shortened_history(const ConversationContext& context,
                                                  std::span<const ChatMessage> messages,
                                                  int64_t room, int64_t next);

}  // namespace cascade
