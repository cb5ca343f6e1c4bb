// Conversations -> token ids: the prompt of a turn, and the history that later turns will see.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
  std::string text;  // what was tokenized
};

// What a conversation may use of a model. All functions: any thread.
struct ConversationContext {
  const Tokenizer& tokenizer;
  const ModelTemplates& templates;
  std::optional<bool> thinking;  // the template's enable_thinking; absent: not set
  int64_t now_unix_s = 0;
  OrderedJson tools = nullptr;  // the template's: an array, or null
};

// The conversation with the generation prompt, ready for the model to answer.
// A message with `verbatim` stands in the prompt as it is, its think tokens recognised.
// `goes_on`: the last message is the assistant's, and the prompt ends with its text.
// Errors: kUnsupported, field "chat_template", if the model has none, and "continue_final_message"
// if its template changes the text of the message that goes on; kInvalidArgument from the template
// (raise_exception) or the tokenizer.
Result<EncodedPrompt> encode_prompt(const ConversationContext& context,
                                    std::span<const ChatMessage> messages, bool goes_on = false);

// The conversation, whose last message is the assistant's, as the template renders it once another
// message of the role `follower` follows ("user", or "tool" after a tool call: templates keep the
// thoughts of a turn that goes on); cut where ids no longer depend on that message. Any prompt that
// continues the conversation so begins with these ids. Errors as encode_prompt.
Result<std::vector<int32_t>> encode_history(const ConversationContext& context,
                                            std::span<const ChatMessage> messages,
                                            const std::string& follower = "user");

// Whether an answer ends with a call of a tool, as the chat templates of Qwen, Hermes, Mistral,
// Llama 3.1, Granite and SmolLM have their models write it: its turn goes on with the result.
bool calls_tool(std::string_view answer);

// The conversation, whose last message is the user's and goes on behind a blank line, as prompts
// will render it; cut where ids depend on how the message goes on. Errors as encode_prompt.
Result<std::vector<int32_t>> encode_beginning(const ConversationContext& context,
                                              std::span<const ChatMessage> messages);

// Raw text as a prompt of its own: as the tokenizer's template encodes it (BOS). Nothing in it is
// trusted. Errors: kInvalidArgument, field "prompt", if it is empty.
Result<std::vector<int32_t>> encode_raw(const Tokenizer& tokenizer, const std::string& text);

}  // namespace cascade
