// Lists are read as a whole: half a list is no call.
#include "model/calls/json_body.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text_edges.h"
#include "model/calls/call_json.h"
#include "model/calls/call_marks.h"
#include "model/calls/relaxed_body.h"
#include "model/calls/relaxed_text.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

constexpr std::string_view kArguments = "[ARGS]";
constexpr std::string_view kId = "[CALL_ID]";

// Reads an object or a list, also one that lacks brackets at its end or has other quotes. nullopt
// if something follows it, or it is none.
std::optional<OrderedJson> read_json(const std::string& text) {
  auto parsed = parse_ordered_json(text, "calls");
  if (parsed.ok())
    return parsed->is_structured() ? std::optional(*std::move(parsed)) : std::nullopt;
  RelaxedText relaxed(text);
  auto read = relaxed.document(
      [](const std::string&, const std::string& bare) { return ToolTypes().value("", "", bare); });
  return relaxed.at_end() ? std::move(read) : std::nullopt;
}

// The call that an object is; nullopt if it has no name.
std::optional<std::string> call_of(const OrderedJson& object) {
  if (!object.is_object()) return std::nullopt;
  const auto name = object.find("name");
  if (name == object.end() || !name->is_string() || *name == "") return std::nullopt;
  std::string arguments = "{}";
  for (const char* key : {"arguments", "parameters"}) {
    const auto found = object.find(key);
    if (found == object.end() || found->is_null()) continue;
    arguments = found->is_string() ? call_arguments(found->get<std::string>()) : dump_exact(*found);
    break;
  }
  return call_json(name->get<std::string>(), arguments);
}

}  // namespace

std::vector<std::string> read_call_list(std::string_view body) {
  auto parsed = read_json(without_marks(body));
  if (!parsed) return {};
  if (!parsed->is_array()) parsed = OrderedJson::array({*std::move(parsed)});
  std::vector<std::string> calls;
  for (const OrderedJson& object : *parsed) {
    std::optional<std::string> call = call_of(object);
    if (!call) return {};
    calls.push_back(*std::move(call));
  }
  return calls;
}

std::vector<std::string> read_mistral(std::string_view body) {
  body = trimmed(body);
  const bool is_named =
      !body.starts_with('{') && (!body.starts_with('[') || body.starts_with(kArguments));
  if (!is_named) return read_call_list(body);
  const size_t brace = body.find('{');
  if (brace == body.npos) return {};
  std::string_view name = body.substr(0, brace);
  name = name.substr(0, std::min(name.find(kArguments), name.find(kId)));
  const std::string function(trimmed(name.substr(0, name.find(kMarkByte))));
  if (!is_function_name(function)) return {};
  const std::string written = without_marks(body.substr(brace));
  const auto read =
      parse_ordered_json(written, "arguments").ok() ? std::nullopt : read_json(written);
  return {call_json(function, read ? dump_exact(*read) : call_arguments(written))};
}

std::vector<std::string> read_llama3(std::string_view body, const ToolTypes& types) {
  const std::string plain = without_marks(body);
  const auto parsed = read_json(plain);
  if (parsed && parsed->is_object()) {
    const auto name = parsed->find("name");
    const bool is_known = name != parsed->end() && name->is_string() &&
                          types.has(name->get_ref<const std::string&>());
    const bool has_arguments = parsed->contains("parameters") || parsed->contains("arguments");
    return is_known && has_arguments ? read_call_list(plain) : std::vector<std::string>{};
  }
  constexpr std::string_view kCall = ".call(";
  const size_t at = plain.find(kCall);
  if (at == plain.npos || !types.has(trimmed(std::string_view(plain).substr(0, at)))) return {};
  return read_pythonic(plain.substr(0, at) + plain.substr(at + kCall.size() - 1), types);
}

}  // namespace cascade
