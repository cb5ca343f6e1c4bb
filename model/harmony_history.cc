// Messages are only put in another order where a message has several calls.
#include "model/harmony_history.h"

#include <string>
#include <utility>
#include <vector>

#include "base/exact_number.h"
#include "model/calls/call_history.h"

namespace cascade {
namespace {

void join_thoughts(OrderedJson& message) {
  std::string thoughts = text_member(message, "reasoning_content");
  message.erase("reasoning_content");
  const std::string content = text_member(message, "content");
  if (message.contains("tool_calls") && !thoughts.empty() && !content.empty()) {
    thoughts += "\n\n" + content;
    message["content"] = "";
  }
  if (!thoughts.empty()) message["thinking"] = thoughts;
}

// Adds a message for each call, with the results of these calls between them. `next` is the place
// of the first message after it; results that were added are left out there.
void add_calls_of(const OrderedJson& message, const OrderedJson& messages, size_t next,
                  std::vector<bool>& is_added, OrderedJson& out) {
  const OrderedJson& calls = message.at("tool_calls");
  for (size_t i = 0; i < calls.size(); ++i) {
    OrderedJson one = message;
    one["tool_calls"] = OrderedJson::array({calls[i]});
    if (i > 0) {
      one["content"] = "";
      one.erase("thinking");
    }
    out.push_back(std::move(one));
    const std::string id = text_member(calls[i], "id");
    for (size_t at = next; at < messages.size() && i + 1 < calls.size(); ++at) {
      if (text_member(messages[at], "role") != "tool") break;
      if (id.empty() || text_member(messages[at], "tool_call_id") != id || is_added[at]) continue;
      out.push_back(messages[at]);
      is_added[at] = true;
      break;
    }
  }
}

}  // namespace

OrderedJson harmony_messages(const OrderedJson& messages, bool calls) {
  OrderedJson out = OrderedJson::array();
  std::vector<bool> is_added(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    if (is_added[i]) continue;
    OrderedJson message = messages[i];
    if (text_member(message, "role") == "assistant") {
      if (calls) calls_from_content(message);
      join_thoughts(message);
    }
    const auto made = message.find("tool_calls");
    const bool has_several = made != message.end() && made->is_array() && made->size() > 1;
    if (has_several) {
      add_calls_of(message, messages, i + 1, is_added, out);
    } else {
      out.push_back(std::move(message));
    }
  }
  return out;
}

OrderedJson harmony_tools(const OrderedJson& tools) {
  OrderedJson out = tools;
  if (!out.is_array()) return out;
  for (OrderedJson& tool : out) {
    if (!tool.is_object() || !tool.contains("function") || !tool["function"].is_object()) continue;
    OrderedJson& function = tool["function"];
    const auto description = function.find("description");
    if (description == function.end() || !description->is_string()) function["description"] = "";
    const auto parameters = function.find("parameters");
    if (parameters == function.end() || !parameters->is_object()) continue;
    const auto properties = parameters->find("properties");
    if (properties == parameters->end() || !properties->is_object()) continue;
    for (OrderedJson& property : *properties) {
      const bool joins = property.is_object() && property.contains("default") &&
                         (property.contains("enum") || property.contains("oneOf"));
      if (joins && !property["default"].is_string()) {
        property["default"] = dump_exact(property["default"]);
      }
    }
  }
  return out;
}

}  // namespace cascade
