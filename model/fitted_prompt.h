// A conversation as a prompt that fits its room: its oldest turns are left out if it is too long.
#pragma once

#include <cstdint>
#include <span>

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
// Which turns are left out depends on the messages, the template and `room` alone. The lengths of
// messages are counted one by one, and what the template adds to each is measured with two short
// messages; if the prompt is longer than that says, more is left out until it fits.
// Errors: those of encode_prompt(). Any thread.
Result<FittedPrompt> encode_fitted(const ConversationContext& context,
                                   std::span<const ChatMessage> messages, bool goes_on,
                                   int64_t room);

}  // namespace cascade
