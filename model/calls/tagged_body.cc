// Values may have any text, also tags: a value ends at a closing tag that something of a call
// follows.
#include "model/calls/tagged_body.h"

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/text_edges.h"
#include "model/calls/call_json.h"

namespace cascade {
namespace {

// How many closing tags of a value are looked at, so that many values take no longer.
constexpr int kClosingTagsMax = 64;

// Removes one line end on each side.
std::string_view without_line_ends(std::string_view text) {
  if (text.starts_with("\r\n")) text.remove_prefix(1);
  if (text.starts_with('\n')) text.remove_prefix(1);
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

// A name in a tag, without the quotes that some models put around it.
std::string tag_name(std::string_view text) {
  text = trimmed(text);
  const bool is_quoted =
      text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text.front();
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

// Takes the text before `mark` from the beginning of `rest`, and the mark; all of `rest` if there
// is no mark.
std::string_view take_until(std::string_view& rest, std::string_view mark) {
  const size_t at = std::min(rest.find(mark), rest.size());
  const std::string_view text = rest.substr(0, at);
  rest.remove_prefix(std::min(at + mark.size(), rest.size()));
  return text;
}

// Takes a value from the beginning of `rest`, and its closing tag: the first one that one of `next`
// follows, or the end of `rest`. Without such a tag, the first one counts. nullopt if there is
// none.
std::optional<std::string_view> take_value(std::string_view& rest, std::string_view closing,
                                           std::initializer_list<std::string_view> next) {
  const size_t first = rest.find(closing);
  if (first == rest.npos) return std::nullopt;
  size_t end = first;
  int left = kClosingTagsMax;
  for (; end != rest.npos && left > 0; end = rest.find(closing, end + 1), --left) {
    std::string_view after = rest.substr(end + closing.size());
    after.remove_prefix(std::min(after.find_first_not_of(kBlanks), after.size()));
    const auto follows = [&](std::string_view tag) { return after.starts_with(tag); };
    if (after.empty() || std::ranges::any_of(next, follows)) break;
  }
  if (end == rest.npos || left == 0) end = first;
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(end + closing.size());
  return value;
}

// Takes a value of Qwen. Without its closing tag, it ends where the next parameter begins, or where
// the function ends.
std::string_view take_parameter(std::string_view& body) {
  if (const auto value = take_value(body, kParameterEnd, {kParameterTag, kFunctionEnd})) {
    return *value;
  }
  std::string_view value = body;
  for (const char* next : {"\n<parameter=", "\n</function>"}) {
    value = value.substr(0, value.find(next));
  }
  body.remove_prefix(value.size());
  return value;
}

}  // namespace

std::vector<std::string> read_qwen_tags(std::string_view body, const ToolTypes& types) {
  std::vector<std::string> calls;
  while ((body = trimmed(body)).starts_with(kFunctionTag)) {
    body.remove_prefix(kFunctionTag.size());
    const std::string name = tag_name(take_until(body, ">"));
    if (name.empty()) break;
    OrderedJson arguments = OrderedJson::object();
    const char* end = nullptr;  // of the function
    for (size_t at; (at = body.find(kParameterTag)) != body.npos;) {
      if (end == nullptr || end < body.data()) {
        end = body.data() + std::min(body.find(kFunctionEnd), body.size());
      }
      if (end < body.data() + at) break;
      body.remove_prefix(at + kParameterTag.size());
      const std::string key = tag_name(take_until(body, ">"));
      arguments[key] = types.value(name, key, without_line_ends(take_parameter(body)));
    }
    (void)take_until(body, kFunctionEnd);
    calls.push_back(call_json(name, dump_exact(arguments)));
  }
  return calls;
}

std::vector<std::string> read_glm_tags(std::string_view body, const ToolTypes& types) {
  const std::string name(trimmed(take_until(body, kKeyTag)));
  const bool is_name = !name.empty() && name.find_first_of(" \t\r\n<{\"") == std::string::npos;
  if (!is_name || (body.empty() && !types.has(name))) return {};
  OrderedJson arguments = OrderedJson::object();
  while (!body.empty()) {
    const std::string key(trimmed(take_until(body, kKeyEnd)));
    (void)take_until(body, kValueTag);
    const auto closed = take_value(body, kValueEnd, {kKeyTag});
    const std::string_view value = closed ? *closed : std::exchange(body, {});
    arguments[key] = types.value(name, key, value);
    (void)take_until(body, kKeyTag);
  }
  return {call_json(name, dump_exact(arguments))};
}

}  // namespace cascade
