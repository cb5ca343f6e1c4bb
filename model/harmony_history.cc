// Messages are only put in another order where a message has several calls.
#include "model/harmony_history.h"

#include <string>
#include <utility>
#include <vector>

#include "model/call_history.h"

namespace cascade {
namespace {

std::string text_member(const OrderedJson& message, const char* key) {
  const auto found = message.find(key);
  return found != message.end() && found->is_string() ? found->get<std::string>() : "";
}

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

OrderedJson harmony_messages(const OrderedJson& messages) {
  OrderedJson out = OrderedJson::array();
  std::vector<bool> is_added(messages.size());
  for (size_t i = 0; i < messages.size(); ++i) {
    if (is_added[i]) continue;
    OrderedJson message = messages[i];
    if (text_member(message, "role") == "assistant") {
      calls_from_content(message);
      join_thoughts(message);
    }
    const auto calls = message.find("tool_calls");
    const bool has_several = calls != message.end() && calls->is_array() && calls->size() > 1;
    if (has_several) {
      add_calls_of(message, messages, i + 1, is_added, out);
    } else {
      out.push_back(std::move(message));
    }
  }
  return out;
}

}  // namespace cascade
