// What a model may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/tool_call_parser.h"
#include "wire/messages.h"
#include "wire/openai/fields.h"

namespace cascade::openai {

// Reads tools, tool_choice, parallel_tool_calls. `flat`: a tool's function is beside its type, as
// in responses. Sets request.tools (none with tool_choice "none").
// Tools of other types than functions (those that a provider runs itself, such as web_search, and
// those of clients for one provider, such as namespace and custom) are left out: the model only
// loses a choice that it had. It is an error if tool_choice allows no other tool.
struct ToolUse {
  bool given = false;                      // the answer may have calls
  bool parallel = true;                    // the answer may have more than one call
  OrderedJson tools;                       // as the client gave them; null if it gave none
  OrderedJson choice;                      // as the client gave it; null if it gave none
  std::vector<OrderedJson> functions;      // {name, description, parameters} of each
  std::vector<std::string> schema_params;  // where each function's parameters are in the request
  enum class Demand { kNone, kSome } demand = Demand::kNone;  // kSome: the answer is calls alone
  std::string demanded;                                       // the function to call; empty: any
  OrderedJson ignored = OrderedJson::array();                 // {type, name?} of each tool left out
};
ToolUse read_tools(Fields& fields, bool flat, wire::GenerateRequest& request);

// The value of the header that names the `ignored` tools of a request: "web_search, custom patch".
// ASCII without control characters, about 1,000 bytes at most.
std::string ignored_tools_header(const OrderedJson& ignored);

// {"id":…,"type":"function","function":{"name":…,"arguments":…}}
OrderedJson encode(const ToolCall& call);

}  // namespace cascade::openai
