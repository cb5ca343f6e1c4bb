// Shared by the tests of calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cascade::testing {

// The tools of a request: get(city, days), where city is a string, and now().
inline constexpr std::string_view kCallTools =
    R"([{"function":{"name":"get","parameters":{"properties":{
    "city":{"type":"string"},"days":{"type":"integer"}}}}}, {"function":{"name":"now"}}])";

// A call of get in the form that all calls get.
inline const std::string kGetCall =
    "<tool_call>\n{\"name\": \"get\", \"arguments\": "
    "{\"city\":\"Paris\",\"days\":3}}\n</tool_call>";

// Calls one a line.
inline std::string lines_of(const std::vector<std::string>& calls) {
  std::string text;
  for (const std::string& call : calls) text += (text.empty() ? "" : "\n") + call;
  return text;
}

}  // namespace cascade::testing
