// A summary is asked for in one question, without system prompt and tools: so the model does not go
// on with the conversation, whatever it says.
#include "model/stand_in.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace cascade {
namespace {

constexpr std::string_view kStandInHeading = "Summary of this conversation so far:\n\n";
constexpr std::string_view kThenNow = "\n\nNow:\n\n";
constexpr std::string_view kBeforePrompt = "\n\n---\n\n";
constexpr std::string_view kWordsMark = "{words}";

std::string_view speaker_of(const ChatMessage& message) {
  if (message.role == "assistant") return "Assistant: ";
  if (message.role == "tool") return "Tool: ";
  return message.role == "system" ? "System: " : "User: ";
}

}  // namespace

std::string transcript(std::span<const ChatMessage> messages) {
  std::string text;
  for (const ChatMessage& message : messages) {
    if (!text.empty()) text += "\n\n";
    text += speaker_of(message);
    text += message.content;
    if (!message.tool_calls.empty()) text += (message.content.empty() ? "" : " ");
    text += message.tool_calls;
  }
  return text;
}

std::string ask_for_summary(const std::string& text, std::string_view prompt, int64_t tokens_max) {
  // Three words of English have some 4 tokens.
  const std::string words = std::to_string(std::max<int64_t>(1, tokens_max * 3 / 4));
  std::string question = text;
  question += kBeforePrompt;
  while (true) {
    const size_t place = prompt.find(kWordsMark);
    question += prompt.substr(0, place);
    if (place == std::string_view::npos) return question;
    question += words;
    prompt.remove_prefix(place + kWordsMark.size());
  }
}

const StandIn* stand_in_for(std::span<const StandIn> summaries, const LeftOut& cut) {
  const auto after = std::ranges::upper_bound(summaries, cut, {}, &StandIn::cut);
  return after == summaries.begin() ? nullptr : &*std::prev(after);
}

void put_stand_in(const std::string& text, std::vector<ChatMessage>& messages) {
  const auto first = std::ranges::find_if(
      messages, [](const ChatMessage& message) { return message.role != "system"; });
  std::string content(kStandInHeading);
  content += text;
  if (first != messages.end() && first->role == "user") {
    content += kThenNow;
    first->content.insert(0, content);
  } else {
    messages.insert(first, {.role = "user", .content = std::move(content), .reasoning = {}});
  }
}

}  // namespace cascade
