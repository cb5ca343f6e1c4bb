// Conversations as chat completions have them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// Reads the array `key` of messages: roles system, developer, user, assistant and tool; content as
// a string or as parts of text, which are joined by a newline; reasoning_content or reasoning;
// tool_calls. cache_control of a part or message goes to `request`.
// Errors are left in `fields`, with params such as "messages[2].content[0].type".
void read_messages(Fields& fields, std::string_view key, wire::GenerateRequest& request);

// Whether the answer continues the last message; nullopt if the last message is not the
// assistant's. True if the request says nothing about this, or if the request has
// continue_final_message, "prefix": true in that message, or add_generation_prompt false. An empty
// last assistant message is removed, unless it is the only message. Errors are left in `fields`.
std::optional<bool> read_continuation(Fields& fields, std::vector<ChatMessage>& messages);

// The text of a message's content: a string, or an array of parts whose types are in `types` and
// whose texts are in a member "text". Cache controls go to `request`.
std::string read_content(Fields& fields, std::string_view key,
                         const std::vector<std::string>& types, wire::GenerateRequest& request);

}  // namespace cascade::openai
