// Ids are made up: templates that show them show the same ones for call and result.
#include "model/call_history.h"

#include <string>
#include <utility>
#include <vector>

#include "base/tool_call_parser.h"

namespace cascade {

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

}  // namespace cascade
