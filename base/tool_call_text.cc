// Whole calls are read as JSON. Damaged calls mostly lack a brace, or have one too many.
#include "base/tool_call_text.h"

#include "base/exact_number.h"
#include "base/json.h"
#include "base/text_edges.h"

namespace cascade {
namespace {

// The text after `"key":`, from its first character on; nullopt if there is no such key.
std::optional<std::string_view> behind_key(std::string_view text, std::string_view key) {
  const size_t at = text.find('"' + std::string(key) + '"');
  if (at == text.npos) return std::nullopt;
  std::string_view rest = trimmed(text.substr(at + key.size() + 2));
  if (!rest.starts_with(':')) return std::nullopt;
  return trimmed(rest.substr(1));
}

// The JSON string that `text` begins with.
std::optional<std::string> text_at(std::string_view text) {
  if (!text.starts_with('"')) return std::nullopt;
  for (size_t end = 1; end < text.size(); ++end) {
    if (text[end] == '\\') {
      ++end;
    } else if (text[end] == '"') {
      const auto parsed = parse_json(text.substr(0, end + 1), "name");
      return parsed.ok() ? std::optional(parsed->get<std::string>()) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<ToolCallText> whole_call(std::string_view text) {
  const auto parsed = parse_ordered_json(text, "call");
  if (!parsed.ok() || !parsed->is_object()) return std::nullopt;
  const auto name = parsed->find("name");
  if (name == parsed->end() || !name->is_string()) return std::nullopt;
  ToolCallText call = {name->get<std::string>(), "{}"};
  const auto arguments = parsed->find("arguments");
  if (arguments == parsed->end() || arguments->is_null()) return call;
  const bool is_text = arguments->is_string();
  call.arguments = is_text ? arguments->get<std::string>() : dump_exact(*arguments);
  return call;
}

std::optional<ToolCallText> damaged_call(std::string_view text) {
  text = trimmed(text);
  const auto behind_name = behind_key(text, "name");
  if (!text.starts_with('{') || !behind_name) return std::nullopt;
  const auto name = text_at(*behind_name);
  auto arguments = behind_key(*behind_name, "arguments");
  if (!name || name->empty() || !arguments || arguments->empty()) return std::nullopt;
  const auto is_json = [](std::string_view json) { return parse_json(json, "arguments").ok(); };
  if (!is_json(*arguments) && arguments->ends_with('}')) {
    arguments = trimmed(arguments->substr(0, arguments->size() - 1));
  }
  return ToolCallText{*name, std::string(*arguments)};
}

bool begins_call(std::string_view text) {
  text = trimmed(text);
  return text.empty() || text.starts_with('{');
}

}  // namespace cascade
