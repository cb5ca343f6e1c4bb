// The whole conversation is tried first, unless its bytes say that it cannot fit.
#include "model/fitted_prompt.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "model/conversation_cut.h"

namespace cascade {
namespace {

// A conversation with more bytes for each token of the room is not tried as a whole. Real text has
// 3 to 5 bytes a token.
constexpr int64_t kBytesPerTokenTried = 16;
// What templates put around a message, at least: in ChatML, 5 tokens.
constexpr int64_t kMarksMin = 5;

int64_t bytes_of(std::span<const ChatMessage> messages) {
  int64_t bytes = 0;
  for (const ChatMessage& message : messages) {
    bytes += static_cast<int64_t>(message.content.size() + message.tool_calls.size());
  }
  return bytes;
}

Result<int64_t> tokens_of(const Tokenizer& tokenizer, const std::string& text) {
  if (text.empty()) return int64_t{0};
  ASSIGN_OR_RETURN(const std::vector<int32_t> ids,
                   tokenizer.encode(text, /*trusted=*/false, /*with_template=*/false));
  return std::ssize(ids);
}

// The tokens that the template puts around a message, measured with a question and an answer of one
// word each at the beginning of `messages`, whose prompt has `tokens` tokens.
int64_t marks_of(const ConversationContext& context, std::span<const ChatMessage> messages,
                 bool goes_on, int64_t tokens) {
  std::vector<ChatMessage> longer(messages.begin(), messages.end());
  const auto place = std::ranges::find_if(
      longer, [](const ChatMessage& message) { return message.role != "system"; });
  longer.insert(place, {{.role = "user", .content = "a", .reasoning = {}},
                        {.role = "assistant", .content = "a", .reasoning = {}}});
  const auto prompt = encode_prompt(context, longer, goes_on);
  if (!prompt.ok()) return kMarksMin;
  const int64_t pair = std::ssize(prompt->token_ids) - tokens - 2;
  return std::max(kMarksMin, (pair + 1) / 2);
}

// Thoughts count only after the last question: templates leave out earlier ones.
Result<std::vector<int64_t>> sizes_of(const Tokenizer& tokenizer,
                                      std::span<const ChatMessage> messages, int64_t marks) {
  std::vector<int64_t> sizes;
  size_t question = messages.size();
  while (question > 0 && messages[question - 1].role != "user") --question;
  for (size_t i = 0; i < messages.size(); ++i) {
    const ChatMessage& message = messages[i];
    int64_t size = marks;
    const std::string* const thoughts = i < question ? nullptr : &message.reasoning;
    for (const std::string* text :
         {&message.content, &message.tool_calls, &message.name, thoughts}) {
      if (text == nullptr) continue;
      ASSIGN_OR_RETURN(const int64_t tokens, tokens_of(tokenizer, *text));
      size += tokens;
    }
    sizes.push_back(size);
  }
  return sizes;
}

}  // namespace

Result<FittedPrompt> encode_fitted(const ConversationContext& context,
                                   std::span<const ChatMessage> messages, bool goes_on,
                                   int64_t room) {
  if (bytes_of(messages) <= kBytesPerTokenTried * room) {
    ASSIGN_OR_RETURN(EncodedPrompt whole, encode_prompt(context, messages, goes_on));
    if (std::ssize(whole.token_ids) <= room) return FittedPrompt{std::move(whole), {}};
  }
  const ConversationCuts cuts(messages);
  const std::vector<ChatMessage> least = kept_messages(messages, cuts, cuts.last());
  ASSIGN_OR_RETURN(EncodedPrompt shortest, encode_prompt(context, least, goes_on));
  const int64_t shortest_tokens = std::ssize(shortest.token_ids);
  if (shortest_tokens > room) return FittedPrompt{std::move(shortest), cuts.last()};

  const int64_t marks = marks_of(context, least, goes_on, shortest_tokens);
  ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, sizes_of(context.tokenizer, messages, marks));
  int64_t fixed = shortest_tokens;  // of system prompt, tools and the generation prompt
  for (size_t i = 0; i < messages.size(); ++i) {
    const bool counts = i >= cuts.system_messages() && cuts.stays(i, cuts.last());
    if (counts) fixed -= sizes[i];
  }
  const int64_t left = room - std::max<int64_t>(fixed, 0);
  LeftOut cut = cuts.choose(sizes, {left, left / 2});
  while (cut != cuts.last()) {
    const std::vector<ChatMessage> kept = kept_messages(messages, cuts, cut);
    ASSIGN_OR_RETURN(EncodedPrompt prompt, encode_prompt(context, kept, goes_on));
    if (std::ssize(prompt.token_ids) <= room) return FittedPrompt{std::move(prompt), cut};
    cut = cuts.after(cut);
  }
  return FittedPrompt{std::move(shortest), cut};
}

}  // namespace cascade
