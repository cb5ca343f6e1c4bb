// The JSON of a call, in the form that all calls get (base/tool_call_parser.h).
#pragma once

#include <string>
#include <string_view>

#include "base/exact_number.h"
#include "base/json.h"
#include "base/text_edges.h"
#include "base/tool_call_parser.h"

namespace cascade {

// Whether a function may be called so, where no quotes are around its name.
inline bool is_function_name(std::string_view name) {
  constexpr std::string_view kNever = " \t\r\n\"'`,;=<>[]{}()";
  return !name.empty() && name.find_first_of(kNever) == name.npos;
}

// Whether a name has only letters, digits and _ - . : /, which mean nothing in any form.
inline bool is_plain_name(std::string_view name) {
  constexpr std::string_view kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:/";
  return !name.empty() && name.find_first_not_of(kPlain) == name.npos;
}

// {"name": NAME, "arguments": , the text that the JSON of a call begins with.
inline std::string call_begin(const std::string& name) {
  return "{\"name\": " + dump_exact(OrderedJson(name)) + ", \"arguments\": ";
}

// {"name": NAME, "arguments": ARGUMENTS}; `arguments` is JSON text.
inline std::string call_json(const std::string& name, const std::string& arguments) {
  return call_begin(name) + arguments + "}";
}

// JSON text for arguments as a model wrote them. They cannot end the call or add another one: they
// are one JSON object, or else a JSON string of what was written.
inline std::string call_arguments(const std::string& written) {
  if (trimmed(written).empty()) return "{}";
  const auto parsed = parse_ordered_json(written, "arguments");
  return parsed.ok() && parsed->is_object() ? written : dump_exact(OrderedJson(written));
}

// A call with its marks; `json` is that of call_json().
inline std::string marked_call(const std::string& json) {
  return std::string(kToolCallOpen) + "\n" + json + "\n" + std::string(kToolCallClose);
}

}  // namespace cascade
