// Ids are made up: templates that show them show the same ones for call and result.
#include "model/calls/call_history.h"

#include <algorithm>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/call_id.h"
#include "base/tool_call_parser.h"

namespace cascade {

std::string text_member(const OrderedJson& object, const char* key) {
  if (!object.is_object()) return "";
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

void calls_from_content(OrderedJson& message) {
  std::string prefix = text_member(message, kCallIdPrefix);
  message.erase(kCallIdPrefix);
  if (prefix.empty()) prefix = "history";
  const std::string content = text_member(message, "content");
  if (message.contains("tool_calls") || content.find(kToolCallOpen) == std::string::npos) return;
  ToolCallParser parser(/*parallel=*/true, prefix);
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
  size_t made = 0;                               // the number of ids that were made up
  const auto open = [&](OrderedJson& call) {
    if (!call.is_object()) return;
    if (text_member(call, "id").empty()) call["id"] = call_id_of(std::to_string(++made));
    const std::string id = text_member(call, "id");
    functions[id] = call.contains("function") ? text_member(call["function"], "name") : "";
    order.push_back(id);
  };
  for (OrderedJson& message : messages) {
    const auto calls = message.find("tool_calls");
    if (calls != message.end() && calls->is_array()) std::ranges::for_each(*calls, open);
    if (text_member(message, "role") != "tool") continue;
    auto call = functions.find(text_member(message, "tool_call_id"));
    while (call == functions.end() && !order.empty()) {
      call = functions.find(order.front());
      order.pop_front();
    }
    if (call == functions.end()) continue;
    message["tool_call_id"] = call->first;
    const bool has_name = call->second.empty() || !text_member(message, "name").empty();
    if (!has_name) message["name"] = call->second;
    functions.erase(call);
  }
}

}  // namespace cascade
