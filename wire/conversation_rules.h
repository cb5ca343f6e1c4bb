// What the messages of a conversation must satisfy, in whatever request they are.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "wire/chunk.h"
#include "wire/request_messages.h"

namespace cascade::wire {

// Errors of all: kInvalidArgument with the field, e.g. "messages[1].role". Pure, any thread.

// Each is of one that takes part in a conversation.
Status check_roles(const std::vector<ChatMessage>& messages);
// Calls are a JSON array of objects.
Status check_tool_calls(const std::vector<ChatMessage>& messages);
// `text`: empty, or a JSON array of objects.
Status check_json_array(const std::string& field, const std::string& text);
// The last message (there is one) is what is answered or, if it `goes_on`, what the answer goes on
// with.
Status check_last_message(const std::vector<ChatMessage>& messages,
                          const std::optional<bool>& goes_on);

// Whether the answer goes on with a text that the prompt ends with: a raw prompt, or the
// assistant's last message.
bool goes_on_with_text(const GenerateRequest& request);

// "name[index]" and a member of it.
std::string element(const char* name, size_t index, const char* member);

}  // namespace cascade::wire
