// Summaries of earlier turns: how the model is asked for one, and where it stands in a prompt.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/on_overflow.h"

namespace cascade {

// The model is asked for this, unless the operator sets another text. {words} stands for the most
// words that the summary is to have.
inline constexpr char kSummaryPrompt[] =
    "Above is a part of a conversation. Summarize it, so that the conversation can go on without "
    "it. Keep every fact that may be asked for later: names, numbers, codes, dates, places, who "
    "has or did what, decisions, open tasks, wishes of the user. Leave out greetings and "
    "repetitions. Write in the language of the conversation, at most {words} words, and nothing "
    "but the summary.";

// Returns the messages as a text, each with its speaker: "User: …", "Assistant: …", "Tool: …". An
// assistant's calls follow its text. Any thread.
std::string transcript(std::span<const ChatMessage> messages);

// Returns the question that asks for a summary of `text` with at most `tokens_max` tokens: the text
// and, after it, `prompt`. Any thread.
std::string ask_for_summary(const std::string& text, std::string_view prompt, int64_t tokens_max);

// Returns the last of the texts that stands in for no more than `cut` leaves out; nullptr if there
// is none. `summaries` are in ascending order. Any thread.
const StandIn* stand_in_for(std::span<const StandIn> summaries, const LeftOut& cut);

// Puts the text at the beginning of the first message after the system messages, before what the
// user says there. If that message is not the user's, the text becomes a message of the user before
// it. Any thread.
void put_stand_in(const std::string& text, std::vector<ChatMessage>& messages);

}  // namespace cascade
