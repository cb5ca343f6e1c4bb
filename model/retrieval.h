// Brings back what a conversation left out, as far as it answers the newest question.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"
#include "base/result.h"
#include "model/tokenizer.h"

namespace cascade {

struct RetrievedText {
  std::string text;             // empty if nothing was found
  std::vector<Retrieved> from;  // in the order of the turns
};

// Returns the newest message of the user; nullptr if there is none. Any thread.
const ChatMessage* newest_question(std::span<const ChatMessage> messages);

// Returns the passages of `turns` that answer the newest question among `messages` best
// (model/passage_ranking.h), in the order of the conversation, as a text of at most `tokens_max`
// tokens. Errors: those of the tokenizer. Any thread.
Result<RetrievedText> retrieve(const Tokenizer& tokenizer, std::span<const ChatMessage> messages,
                               std::span<const EarlierTurn> turns, int64_t tokens_max);

// Puts the text before the newest question, so that all messages before it stay as they are: what
// was computed of them is found again. Precondition: `retrieved` is the result of retrieve() for
// these messages, and has a text.
void put_before_question(const RetrievedText& retrieved, std::vector<ChatMessage>& messages);

}  // namespace cascade
