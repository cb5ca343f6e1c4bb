// Ids are made up: templates that show them show the same ones for call and result.
#include "model/calls/call_history.h"

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/tool_call_parser.h"

namespace cascade {

std::string text_member(const OrderedJson& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void calls_from_content(OrderedJson& message) {
  const auto found = message.find("content");
  if (found == message.end() || !found->is_string()) return;
  const std::string content = *found;
  if (message.contains("tool_calls") || content.find(kToolCallOpen) == std::string::npos) return;
  ToolCallParser parser(/*parallel=*/true, "history");
  std::vector<AnswerPart> parts = parser.push(content);
  for (AnswerPart& part : parser.finish(/*cut=*/false)) parts.push_back(std::move(part));
  std::string text;
  OrderedJson calls = OrderedJson::array();
  for (const AnswerPart& part : parts) {
    text += part.text;
    for (const ToolCall& call : part.calls) {
      calls.push_back({{"id", call.id},
                       {"type", "function"},
                       {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
    }
  }
  if (calls.empty()) return;
  message["content"] = text;
  message["tool_calls"] = std::move(calls);
}

void name_results(OrderedJson& messages) {
  std::map<std::string, std::string> functions;  // of the calls without a result, by id
  std::deque<std::string> order;                 // the ids, also of calls that have a result
  for (OrderedJson& message : messages) {
    const OrderedJson calls = message.value("tool_calls", OrderedJson::array());
    for (const OrderedJson& call : calls) {
      const std::string id = text_member(call, "id");
      const bool has_function = call.is_object() && call.contains("function");
      functions[id] = has_function ? text_member(call["function"], "name") : "";
      order.push_back(id);
    }
    if (text_member(message, "role") != "tool") continue;
    std::string id = text_member(message, "tool_call_id");
    while (id.empty() && !order.empty()) {
      if (functions.contains(order.front())) id = order.front();
      order.pop_front();
    }
    const auto call = functions.find(id);
    if (call == functions.end()) continue;
    message["tool_call_id"] = id;
    if (text_member(message, "name").empty()) message["name"] = call->second;
    functions.erase(call);
  }
}

}  // namespace cascade
