// Parts that are not text are refused by name: an answer to half a question would be useless.
#include "wire/openai/messages.h"

#include <algorithm>

#include "wire/openai/generation_fields.h"
#include "wire/openai/json_text.h"
#include "wire/openai/tools.h"

namespace cascade::openai {
namespace {

// Reads tool_calls in the form in which templates take them.
std::string read_calls(Fields& message) {
  const OrderedJson* calls = message.array("tool_calls");
  if (calls == nullptr || calls->empty()) return "";
  OrderedJson result = OrderedJson::array();
  for (size_t i = 0; i < calls->size() && message.ok(); ++i) {
    Fields call((*calls)[i], message.path("tool_calls") + "[" + std::to_string(i) + "].");
    const OrderedJson* function = call.object("function");
    if (function == nullptr) {
      call.fail("function", "is missing");
    } else {
      Fields inner(*function, call.path("function."));
      ToolCall made;
      made.id = call.text("id").value_or("");
      made.name = inner.text("name").value_or("");
      if (made.name.empty()) inner.fail("name", "is missing");
      made.arguments = inner.text("arguments").value_or("{}");
      result.push_back(encode(made));
      call.fail(inner.status());
    }
    message.fail(call.status());
  }
  return json_text(result);
}

void read_assistant(Fields& fields, ChatMessage& message) {
  fields.refuse("function_call", nullptr, "is obsolete: use tool_calls");
  fields.refuse("audio", nullptr, "audio is not supported");
  const auto deepseek = fields.text("reasoning_content");
  message.reasoning = deepseek ? *deepseek : fields.text("reasoning").value_or("");
  message.tool_calls = read_calls(fields);
  const bool has_content = fields.find("content") != nullptr || fields.find("refusal") != nullptr;
  if (!has_content && message.tool_calls.empty() && message.reasoning.empty()) {
    fields.fail("content", "is missing");
  }
}

ChatMessage read_message(Fields& fields, wire::GenerateRequest& request) {
  ChatMessage message;
  message.role = fields.text("role").value_or("");
  if (message.role == "developer") message.role = "system";
  const bool known = message.role == "system" || message.role == "user" ||
                     message.role == "assistant" || message.role == "tool";
  if (!known) fields.fail("role", "must be system, developer, user, assistant or tool");
  message.content = read_content(fields, "content", {"text", "refusal"}, request);
  read_cache_control(fields, "cache_control", request);
  if (message.role == "assistant") {
    read_assistant(fields, message);
  } else if (fields.find("content") == nullptr) {
    fields.fail("content", "is missing");
  }
  if (message.role == "tool") {
    message.tool_call_id = fields.text("tool_call_id").value_or("");
    message.name = fields.text("name").value_or("");
  }
  return message;
}

}  // namespace

std::string read_content(Fields& fields, std::string_view key,
                         const std::vector<std::string>& types, wire::GenerateRequest& request) {
  const OrderedJson* content = fields.find(key);
  if (content == nullptr) return "";
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    fields.fail(key, "must be a string or an array of parts");
    return "";
  }
  std::string text;
  for (size_t i = 0; i < content->size() && fields.ok(); ++i) {
    Fields part((*content)[i], fields.path(key) + "[" + std::to_string(i) + "].");
    const std::string type = part.text("type").value_or("");
    if (std::ranges::find(types, type) == types.end()) {
      part.fail(unsupported(part.path("type"), "only text is supported, got \"" + type + '"'));
    }
    const char* member = type == "refusal" ? "refusal" : "text";
    const auto piece = part.text(member);
    if (!piece) part.fail(member, "is missing");
    read_cache_control(part, "cache_control", request);
    if (i > 0) text += '\n';
    text += piece.value_or("");
    fields.fail(part.status());
  }
  return text;
}

std::optional<bool> read_continuation(Fields& fields, std::vector<ChatMessage>& messages) {
  const auto wanted = fields.boolean("continue_final_message");
  const auto prompt = fields.boolean("add_generation_prompt");
  const OrderedJson* given = fields.array("messages");
  if (given == nullptr || messages.empty() || !fields.ok()) return std::nullopt;
  std::optional<bool> prefix;
  const size_t last = messages.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    Fields message((*given)[i], fields.path("messages") + "[" + std::to_string(i) + "].");
    prefix = message.boolean("prefix");
    const bool misplaced = i < last || messages[i].role != "assistant";
    if (prefix.value_or(false) && misplaced) {
      message.fail("prefix", "is only allowed in the last message, if that is the assistant's");
    }
    fields.fail(message.status());
  }
  if (messages[last].role != "assistant") {
    if (wanted.value_or(false)) {
      fields.fail("continue_final_message",
                  "is only allowed if the last message is the assistant's");
    } else if (!prompt.value_or(true)) {
      fields.fail("add_generation_prompt",
                  "may be false only if the last message is the assistant's");
    }
    return std::nullopt;
  }
  const ChatMessage& begun = messages[last];
  if (last > 0 && begun.content.empty() && begun.tool_calls.empty() && begun.reasoning.empty()) {
    messages.pop_back();
    return std::nullopt;
  }
  if (wanted) return wanted;
  return prefix ? *prefix : !prompt.value_or(false);
}

void read_messages(Fields& fields, std::string_view key, wire::GenerateRequest& request) {
  const OrderedJson* messages = fields.array(key);
  if (messages == nullptr) {
    return fields.fail(key, "is missing");
  }
  if (messages->empty()) fields.fail(key, "must not be empty");
  for (size_t i = 0; i < messages->size() && fields.ok(); ++i) {
    Fields message((*messages)[i], fields.path(key) + "[" + std::to_string(i) + "].");
    if (!(*messages)[i].is_object()) message.fail("role", "is missing");
    request.messages.push_back(read_message(message, request));
    fields.fail(message.status());
  }
}

}  // namespace cascade::openai
