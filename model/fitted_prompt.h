// A conversation as a prompt that fits its room: its oldest turns are left out if it is too long.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"
#include "base/result.h"
#include "model/conversation.h"

namespace cascade {

// How long a prompt may be, and what may be in it for what it leaves out.
struct FitOptions {
  int64_t room = 0;        // tokens
  LeftOut preferred = {};  // the caller has computed a prompt without this
  // As in wire::EncodeJob.
  std::span<const StandIn> summaries = {};
};

struct FittedPrompt {
  EncodedPrompt prompt;
  LeftOut left_out;
  std::optional<LeftOut> summarised = {};  // the cut of the stand-in that is in the prompt
};

// As encode_prompt(), but leaves out what ConversationCuts::choose() says if the prompt has more
// than `options.room` tokens. When something is left out, the history that stays has at most half
// of the room that system prompt and tools leave. If the prompt does not fit even so, it is
// returned with all left out that may be.
//
// The tokens of messages are counted one by one, and what the template adds is measured with short
// messages. So what is left out depends on messages, system prompt, tools, template, room and
// summaries alone. If a prompt is longer than was counted, because its template does what short
// messages do not show, more is left out: at most ten prompts are tried, and with summaries some
// ten more.
//
// If the prompt does not fit, `options.preferred` is left out if that is possible and the rest
// fits, because the caller has computed it. Otherwise the first of the cuts of `options.summaries`
// is taken after which the rest fits; then more than half of the room may be taken. If there is
// none, more is left out than they stand in for. If the least that may stay does not fit with a
// summary, the prompt has none.
// Errors: those of encode_prompt(). Any thread.
Result<FittedPrompt> encode_fitted(const ConversationContext& context,
                                   std::span<const ChatMessage> messages, bool goes_on,
                                   const FitOptions& options);

struct ShortenedHistory {
  std::vector<int32_t> token_ids;
  LeftOut left_out;                        // whole turns
  std::optional<LeftOut> summarised = {};  // as in FittedPrompt
};

// As encode_history(), but leaves out the oldest turns if the history and `next` more tokens are
// longer than the room: as many as encode_fitted() may leave out of the next prompt. If the newest
// turn alone is longer than what may stay, nothing is left out. `options.preferred` is ignored.
// Errors and threads as encode_fitted().
Result<ShortenedHistory> encode_shortened_history(const ConversationContext& context,
                                                  std::span<const ChatMessage> messages,
                                                  int64_t next, const FitOptions& options);

}  // namespace cascade
