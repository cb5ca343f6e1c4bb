// The normal form is what clients read back as input_items, and what is kept with the output.
#include "wire/openai/response_items.h"

#include <algorithm>
#include <initializer_list>

#include "wire/openai/json_text.h"
#include "wire/openai/messages.h"

namespace cascade::openai {
namespace {

constexpr std::string_view kResponse = "resp_";
constexpr std::string_view kOutput = "output_";

OrderedJson text_part(const char* type, const std::string& text) {
  OrderedJson part;
  part["type"] = type;
  part["text"] = text;
  if (type == std::string_view("output_text")) part["annotations"] = OrderedJson::array();
  return part;
}

OrderedJson message_of(const std::string& id, const std::string& role, const std::string& text) {
  OrderedJson item;
  item["type"] = "message";
  item["id"] = id;
  item["status"] = "completed";
  item["role"] = role;
  const char* type = role == "assistant" ? "output_text" : "input_text";
  item["content"] = OrderedJson::array({text_part(type, text)});
  return item;
}

OrderedJson read_message(Fields& item, const std::string& id, wire::GenerateRequest& request) {
  const std::string role = item.text("role").value_or("");
  if (role != "user" && role != "assistant" && role != "system" && role != "developer") {
    item.fail("role", "must be user, assistant, system or developer");
  }
  if (item.find("content") == nullptr) item.fail("content", "is missing");
  const std::string text =
      read_content(item, "content", {"input_text", "output_text", "text", "refusal"}, request);
  return message_of(id, role, text);
}

OrderedJson read_call(Fields& item, const std::string& id) {
  ToolCall call;
  call.id = item.text("call_id").value_or("");
  call.name = item.text("name").value_or("");
  call.arguments = item.text("arguments").value_or("{}");
  if (call.id.empty()) item.fail("call_id", "is missing");
  if (call.name.empty()) item.fail("name", "is missing");
  return call_item(id, call);
}

OrderedJson read_call_output(Fields& item, const std::string& id, wire::GenerateRequest& request) {
  OrderedJson result;
  result["type"] = "function_call_output";
  result["id"] = id;
  result["status"] = "completed";
  result["call_id"] = item.text("call_id").value_or("");
  if (item.find("call_id") == nullptr) item.fail("call_id", "is missing");
  if (item.find("output") == nullptr) item.fail("output", "is missing");
  result["output"] = read_content(item, "output", {"input_text", "output_text", "text"}, request);
  return result;
}

// The thoughts, as full text or as a summary.
OrderedJson read_reasoning(Fields& item, const std::string& id) {
  std::string text;
  for (const char* key : {"content", "summary"}) {
    const OrderedJson* parts = item.array(key);
    if (parts == nullptr || !text.empty()) continue;
    for (const OrderedJson& part : *parts) {
      Fields inner(part, item.path(key) + "[].");
      text += inner.text("text").value_or("");
      item.fail(inner.status());
    }
  }
  return reasoning_item(id, text);
}

OrderedJson read_item(Fields& item, const std::string& response_id, size_t number,
                      wire::GenerateRequest& request) {
  const std::string type = item.text("type").value_or("message");
  const auto given = item.text("id");
  const auto id = [&](const char* prefix) {
    return given && !given->empty() ? *given : item_id(prefix, response_id, number);
  };
  if (type == "message") return read_message(item, id("msg"), request);
  if (type == "function_call") return read_call(item, id("fc"));
  if (type == "function_call_output") return read_call_output(item, id("fco"), request);
  if (type == "reasoning") return read_reasoning(item, id("rs"));
  if (type == "item_reference") {
    if (!given || given->empty()) item.fail("id", "is missing");
    return {{"type", type}, {"id", given.value_or("")}};
  }
  item.fail(unsupported(item.path("type"), "items of type \"" + type + "\" are not supported"));
  return nullptr;
}

bool are_parts(const OrderedJson* parts) {
  return parts != nullptr && std::ranges::all_of(*parts, [](const OrderedJson& part) {
           return Fields(part).text("text").has_value();
         });
}

std::string joined_text(const OrderedJson& parts) {
  std::string text;
  for (const OrderedJson& part : parts) text += part.value("text", "");
  return text;
}

// Appends to a conversation. Thoughts, texts and calls that follow each other become one message of
// the assistant's.
class Turns {
 public:
  explicit Turns(std::vector<ChatMessage>& messages) : messages_(messages) {}

  ChatMessage& assistant() {
    if (!open_) messages_.push_back({.role = "assistant", .content = "", .reasoning = {}});
    open_ = true;
    return messages_.back();
  }
  void add_call(const ToolCall& call) {
    (void)assistant();
    calls_.push_back(encode(call));
  }
  void add(ChatMessage message) {
    close();
    messages_.push_back(std::move(message));
  }
  void close() {
    if (!calls_.empty()) messages_.back().tool_calls = json_text(calls_);
    calls_ = OrderedJson::array();
    open_ = false;
  }

 private:
  std::vector<ChatMessage>& messages_;
  bool open_ = false;  // the last message is the assistant's, and its turn goes on
  OrderedJson calls_ = OrderedJson::array();  // calls of that last message
};

}  // namespace

OrderedJson read_input(Fields& fields, const std::string& response_id,
                       wire::GenerateRequest& request) {
  OrderedJson items = OrderedJson::array();
  const OrderedJson* input = fields.find("input");
  if (input == nullptr) {
    fields.fail("input", "is missing");
  } else if (input->is_string()) {
    items.push_back(message_of(item_id("msg", response_id, 0), "user", input->get<std::string>()));
  } else if (!input->is_array() || input->empty()) {
    fields.fail("input", "must be a string or a list of items");
  } else {
    for (size_t i = 0; i < input->size() && fields.ok(); ++i) {
      Fields item((*input)[i], fields.path("input") + "[" + std::to_string(i) + "].");
      if (!(*input)[i].is_object()) item.fail("type", "is missing");
      items.push_back(read_item(item, response_id, i, request));
      fields.fail(item.status());
    }
  }
  return items;
}

bool is_item(const OrderedJson& item) {
  Fields fields(item);
  const auto has_texts = [&](std::initializer_list<const char*> keys) {
    return std::ranges::all_of(keys, [&](const char* key) { return fields.text(key).has_value(); });
  };
  const std::string type = fields.text("type").value_or("");
  if (type == "function_call") return has_texts({"id", "call_id", "name", "arguments"});
  if (type == "function_call_output") return has_texts({"id", "call_id", "output"});
  if (type == "message") return has_texts({"id", "role"}) && are_parts(fields.array("content"));
  return type == "reasoning" && has_texts({"id"}) && are_parts(fields.array("content"));
}

void append_items(const OrderedJson& items, std::vector<ChatMessage>& messages) {
  Turns turns(messages);
  for (const OrderedJson& item : items) {
    const std::string type = item.value("type", "");
    const std::string role = item.value("role", "user");
    if (type == "function_call") {
      turns.add_call(
          {item.value("call_id", ""), item.value("name", ""), item.value("arguments", "")});
    } else if (type == "reasoning") {
      turns.assistant().reasoning += joined_text(item.value("content", OrderedJson::array()));
    } else if (type == "function_call_output") {
      turns.add({.role = "tool",
                 .content = item.value("output", ""),
                 .reasoning = {},
                 .tool_call_id = item.value("call_id", "")});
    } else if (role == "assistant") {
      ChatMessage& message = turns.assistant();
      if (!message.content.empty()) message.content += '\n';
      message.content += joined_text(item.value("content", OrderedJson::array()));
    } else {
      turns.add({.role = role == "developer" ? "system" : role,
                 .content = joined_text(item.value("content", OrderedJson::array())),
                 .reasoning = {}});
    }
  }
  turns.close();
}

std::string response_id_of(std::string_view output_id) {
  if (!output_id.starts_with(kOutput)) return std::string(output_id);
  return std::string(kResponse) + std::string(output_id.substr(kOutput.size()));
}

std::string output_id_of(std::string_view response_id) {
  if (!response_id.starts_with(kResponse)) return std::string(response_id);
  return std::string(kOutput) + std::string(response_id.substr(kResponse.size()));
}

// An item's id, as item_id() makes it, consists of a prefix, the part of the response's id after
// "resp_", and a number.
std::string output_id_of_item(std::string_view item_id) {
  const size_t begin = item_id.find('_');
  const size_t end = item_id.rfind('_');
  if (begin == item_id.npos || begin == end) return "";
  return std::string(kOutput) + std::string(item_id.substr(begin + 1, end - begin - 1));
}

std::string item_id(const char* prefix, std::string_view response_id, size_t number) {
  const size_t name = response_id.find('_');
  const std::string_view rest =
      name == std::string_view::npos ? response_id : response_id.substr(name + 1);
  return std::string(prefix) + "_" + std::string(rest) + "_" + std::to_string(number);
}

OrderedJson reasoning_item(const std::string& id, const std::string& text) {
  OrderedJson item;
  item["type"] = "reasoning";
  item["id"] = id;
  item["status"] = "completed";
  item["summary"] = OrderedJson::array();
  item["content"] = OrderedJson::array({text_part("reasoning_text", text)});
  return item;
}

OrderedJson message_item(const std::string& id, const std::string& text,
                         const OrderedJson& logprobs) {
  OrderedJson item = message_of(id, "assistant", text);
  item["content"][0]["logprobs"] = logprobs.is_null() ? OrderedJson::array() : logprobs;
  return item;
}

OrderedJson call_item(const std::string& id, const ToolCall& call) {
  OrderedJson item;
  item["type"] = "function_call";
  item["id"] = id;
  item["status"] = "completed";
  item["call_id"] = call.id;
  item["name"] = call.name;
  item["arguments"] = call.arguments;
  return item;
}

}  // namespace cascade::openai
