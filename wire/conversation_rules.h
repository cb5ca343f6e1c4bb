// Rules for the messages of a conversation. They are the same in every request.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/chunk.h"
#include "wire/request_messages.h"

namespace cascade::wire {

// Every error is kInvalidArgument with the field, e.g. "messages[1].role". The functions are pure
// and may be called on any thread.

// Each role must be one that takes part in a conversation.
Status check_roles(const std::vector<ChatMessage>& messages);
// The calls of a message must be a JSON array of objects.
Status check_tool_calls(const std::vector<ChatMessage>& messages);
// `text`: empty, or a JSON array of objects.
Status check_json_array(const std::string& field, const std::string& text);
// Checks the last message (there must be one): the answer replies to it or, with `goes_on`,
// continues it.
Status check_last_message(const std::vector<ChatMessage>& messages,
                          const std::optional<bool>& goes_on);

// `effort`: absent, or 1 to 32 characters of a to z, _ and -. Models differ in the words they know.
Status check_reasoning_effort(const std::string& field, const std::optional<std::string>& effort);

// Whether the answer continues a text that the prompt ends with: a raw prompt, or the assistant's
// last message.
bool goes_on_with_text(const GenerateRequest& request);

// "name[index]" and a member of it.
std::string element(const char* name, size_t index, const char* member);

}  // namespace cascade::wire
