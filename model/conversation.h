// Conversations -> token ids: the prompt of a turn, and the history that later turns will see.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "model/model.h"

namespace cascade {

struct EncodedPrompt {
  std::vector<int32_t> token_ids;
  // What the generation prompt adds behind what history shows, e.g. an empty think block.
  std::string generation_prefix;
  // The prompt ends inside an open think block: the first sampled tokens are thoughts.
  bool inside_think = false;
};

// What a conversation may use of a model. All functions: any thread.
struct ConversationContext {
  const Tokenizer& tokenizer;
  const std::optional<ChatTemplate>& chat_template;
  const OrderedJson& template_tokens;
  std::optional<bool> thinking;  // the template's enable_thinking; absent: not set
  int64_t now_unix_s = 0;
};

// The conversation with the generation prompt, ready for the model to answer.
// A message with `verbatim` stands in the prompt as it is, its think tokens recognised.
// Errors: kUnsupported, field "chat_template", if the model has none; kInvalidArgument from the
// template (raise_exception) or the tokenizer.
Result<EncodedPrompt> encode_prompt(const ConversationContext& context,
                                    std::span<const ChatMessage> messages);

// The conversation, whose last message is the assistant's, as the template renders it once another
// message of the user follows; cut where ids no longer depend on that message. Any prompt that
// continues the conversation begins with these ids. Errors as encode_prompt.
Result<std::vector<int32_t>> encode_history(const ConversationContext& context,
                                            std::span<const ChatMessage> messages);

// Raw text as a prompt of its own: as the tokenizer's template encodes it (BOS). Nothing in it is
// trusted. Errors: kInvalidArgument, field "prompt", if it is empty.
Result<std::vector<int32_t>> encode_raw(const Tokenizer& tokenizer, const std::string& text);

}  // namespace cascade
