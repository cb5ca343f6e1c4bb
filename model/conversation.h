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
  // The last part of the generation prompt, e.g. an empty think block, which history does not have
  // before the answer.
  std::string generation_prefix;
  // The prompt ends inside an open think block: the first sampled tokens are thoughts.
  bool inside_think = false;
  std::string text;  // what was tokenized
};

// The parts of a model that a conversation may use. All functions: any thread.
struct ConversationContext {
  const Tokenizer& tokenizer;
  const ModelTemplates& templates;
  std::optional<bool> thinking;  // the template's enable_thinking; absent: not set
  int64_t now_unix_s = 0;
  OrderedJson tools = nullptr;                    // for the template: an array, or null
  std::optional<std::string> reasoning_effort{};  // the template's; absent: not set
};

// The conversation with the generation prompt, ready for the model to answer. A message with
// `verbatim` is in the prompt as it is, and its think tokens are recognised. `goes_on`: the last
// message is the assistant's, and the prompt ends with its text.
// Errors: kUnsupported, field "chat_template", if the model has no template, and field
// "continue_final_message" if the template changes the text of the message that goes on;
// kInvalidArgument from the template (raise_exception) or the tokenizer.
Result<EncodedPrompt> encode_prompt(const ConversationContext& context,
                                    std::span<const ChatMessage> messages, bool goes_on = false);

// The ids of a conversation that ends with the assistant's message, as the template renders it when
// a message of the role `follower` comes next ("user", or "tool" after a tool call: templates keep
// the thoughts of a turn that goes on). The ids end where they would begin to depend on that
// message, so any prompt that continues the conversation this way begins with them. Errors as
// encode_prompt.
Result<std::vector<int32_t>> encode_history(const ConversationContext& context,
                                            std::span<const ChatMessage> messages,
                                            const std::string& follower = "user");

// Whether an answer ends with a tool call: in the form that all calls get, or, in an answer to a
// request without tools, in that of Mistral, Llama 3.1 or Granite. The turn of such an answer goes
// on with the tool's result.
bool calls_tool(std::string_view answer);

// The ids of a conversation whose last message, the user's, goes on after a blank line, as prompts
// will render it. The ids end where they would begin to depend on how the message goes on. Errors
// as encode_prompt.
Result<std::vector<int32_t>> encode_beginning(const ConversationContext& context,
                                              std::span<const ChatMessage> messages);

// Encodes raw text as a prompt of its own, with the tokenizer's template (BOS). Nothing in it is
// trusted. Errors: kInvalidArgument, field "prompt", if the prompt is empty.
Result<std::vector<int32_t>> encode_raw(const Tokenizer& tokenizer, const std::string& text);

}  // namespace cascade
