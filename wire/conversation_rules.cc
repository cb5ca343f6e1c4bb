// Roles, tool calls, and who speaks last.
#include "wire/conversation_rules.h"

#include <algorithm>

#include "base/json.h"
#include "wire/request_rules.h"

namespace cascade::wire {

bool goes_on_with_text(const GenerateRequest& request) {
  return request.prompt || !request.prompt_token_ids.empty() ||
         request.continue_final_message.value_or(false);
}

std::string element(const char* name, size_t index, const char* member) {
  return std::string(name) + "[" + std::to_string(index) + "]" + member;
}

Status check_roles(const std::vector<ChatMessage>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = messages[i].role;
    if (role == "system" || role == "user" || role == "assistant" || role == "tool") continue;
    return invalid_argument(element("messages", i, ".role"),
                            "must be system, user, assistant or tool");
  }
  return {};
}

Status check_tool_calls(const std::vector<ChatMessage>& messages) {
  for (size_t i = 0; i < messages.size(); ++i) {
    RETURN_IF_ERROR(
        check_json_array(element("messages", i, ".tool_calls"), messages[i].tool_calls));
  }
  return {};
}

Status check_json_array(const std::string& field, const std::string& text) {
  if (text.empty()) return {};
  ASSIGN_OR_RETURN(const OrderedJson array,
                   parse_ordered_json(text, field, {.bytes_max = kToolsBytesMax}));
  const bool good = array.is_array() && std::ranges::all_of(array, [](const OrderedJson& entry) {
                      return entry.is_object();
                    });
  return good ? Status() : invalid_argument(field, "must be a JSON array of objects");
}

Status check_reasoning_effort(const std::string& field, const std::optional<std::string>& effort) {
  if (!effort) return {};
  const bool good = std::ranges::all_of(
      *effort, [](char c) { return (c >= 'a' && c <= 'z') || c == '_' || c == '-'; });
  if (good && !effort->empty() && effort->size() <= kReasoningEffortBytesMax) return {};
  return invalid_argument(field, "must have 1 to " + std::to_string(kReasoningEffortBytesMax) +
                                     " characters, each a to z, _ or -, such as \"high\"");
}

Status check_last_message(const std::vector<ChatMessage>& messages,
                          const std::optional<bool>& goes_on) {
  const ChatMessage& last = messages.back();
  const size_t index = messages.size() - 1;
  if (!goes_on.value_or(false)) {
    if (last.role == "user" || last.role == "tool") return {};
    return invalid_argument(element("messages", index, ".role"),
                            "the last message must be the user's (or a tool's)");
  }
  if (last.role != "assistant") {
    return invalid_argument(element("messages", index, ".role"),
                            "with continue_final_message the last message must be the assistant's");
  }
  if (!last.tool_calls.empty()) {
    return invalid_argument(element("messages", index, ".tool_calls"),
                            "an answer with calls cannot be continued: give the results of its "
                            "calls");
  }
  if (!last.content.empty()) return {};
  return invalid_argument(element("messages", index, ".content"),
                          "must not be empty with continue_final_message");
}

}  // namespace cascade::wire
