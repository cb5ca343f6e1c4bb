// Items of the Responses API: what goes into a response, and what comes out of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "wire/messages.h"
#include "wire/openai/fields.h"
#include "wire/openai/tools.h"

namespace cascade::openai {

// Reads `input`: a string, or an array of items (message, function_call, function_call_output,
// reasoning, and item_reference, which stands for an item of an earlier response). The result is in
// a normal form: each item has a type, an id and a status, contents are arrays of parts. Cache
// controls go to `request`. Errors are left in `fields`.
OrderedJson read_input(Fields& fields, const std::string& response_id,
                       wire::GenerateRequest& request);

// Whether `item` is an item in its normal form.
bool is_item(const OrderedJson& item);

// Appends the messages that the items, in their normal form, stand for. Calls join the assistant's
// message before them.
void append_items(const OrderedJson& items, std::vector<ChatMessage>& messages);

// "resp_…" <-> "output_…": a response has the id of its output, with another prefix. If an id does
// not have the prefix that would be replaced, it is returned as it is.
std::string response_id_of(std::string_view output_id);
std::string output_id_of(std::string_view response_id);

// The id of the output whose response contains the item with this id. Empty: this is not an id of
// ours.
std::string output_id_of_item(std::string_view item_id);

// Ids of a response's items; those of its calls begin with call_id_prefix() (base/call_id.h).
std::string item_id(const char* prefix, std::string_view response_id, size_t number);

// The complete items of an answer.
OrderedJson reasoning_item(const std::string& id, const std::string& text);
OrderedJson message_item(const std::string& id, const std::string& text,
                         const OrderedJson& logprobs);
OrderedJson call_item(const std::string& id, const ToolCall& call);

}  // namespace cascade::openai
