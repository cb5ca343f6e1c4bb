// Values may have any text, also marks of calls: a call ends at a mark outside its values.
#include "model/tagged_calls.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>

#include "base/exact_number.h"
#include "base/tool_call_parser.h"

namespace cascade {
namespace {

constexpr std::string_view kTagBlanks = " \t\r\n";
// How many closing tags of a value are looked at, so that many values take no longer.
constexpr int kClosingTagsMax = 64;
constexpr std::string_view kFunctionTag = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameterTag = "<parameter=";
constexpr std::string_view kParameterEnd = "</parameter>";
constexpr std::string_view kKeyTag = "<arg_key>";
constexpr std::string_view kKeyEnd = "</arg_key>";
constexpr std::string_view kValueTag = "<arg_value>";
constexpr std::string_view kValueEnd = "</arg_value>";

std::string_view without_blanks(std::string_view text) {
  const size_t begin = std::min(text.find_first_not_of(kTagBlanks), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kTagBlanks) + 1);
}

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
  text = without_blanks(text);
  const bool is_quoted =
      text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text.front();
  return std::string(is_quoted ? text.substr(1, text.size() - 2) : text);
}

// How many bytes at the end of `text` may be the beginning of `mark`.
size_t begun_mark(std::string_view text, std::string_view mark) {
  for (size_t n = std::min(text.size(), mark.size() - 1); n > 0; --n) {
    if (text.ends_with(mark.substr(0, n))) return n;
  }
  return 0;
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
    after.remove_prefix(std::min(after.find_first_not_of(kTagBlanks), after.size()));
    const auto follows = [&](std::string_view tag) { return after.starts_with(tag); };
    if (after.empty() || std::ranges::any_of(next, follows)) break;
  }
  if (end == rest.npos || left == 0) end = first;
  const std::string_view value = rest.substr(0, end);
  rest.remove_prefix(end + closing.size());
  return value;
}

std::string call_text(const std::string& name, const OrderedJson& arguments) {
  return call_begin(name) + dump_exact(arguments) + "}";
}

// Takes a value of Qwen. Without its closing tag, it ends where the next parameter, or the
// function, ends.
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

std::vector<std::string> read_qwen(std::string_view body, const ToolTypes& types) {
  std::vector<std::string> calls;
  while ((body = without_blanks(body)).starts_with(kFunctionTag)) {
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
    calls.push_back(call_text(name, arguments));
  }
  return calls;
}

std::vector<std::string> read_glm(std::string_view body, const ToolTypes& types) {
  const std::string name(without_blanks(take_until(body, kKeyTag)));
  const bool is_name = !name.empty() && name.find_first_of(" \t\r\n<{\"") == std::string::npos;
  if (!is_name || (body.empty() && !types.has(name))) return {};
  OrderedJson arguments = OrderedJson::object();
  while (!body.empty()) {
    const std::string key(without_blanks(take_until(body, kKeyEnd)));
    (void)take_until(body, kValueTag);
    const auto closed = take_value(body, kValueEnd, {kKeyTag});
    const std::string_view value = closed ? *closed : std::exchange(body, {});
    arguments[key] = types.value(name, key, value);
    (void)take_until(body, kKeyTag);
  }
  return {call_text(name, arguments)};
}

// Whether a body that goes on may become a call in this form.
bool may_become_call(CallForm form, std::string_view body) {
  body = without_blanks(body);
  if (form == CallForm::kQwenTags) {
    return body.starts_with(kFunctionTag) || kFunctionTag.starts_with(body);
  }
  const std::string_view name = body.substr(0, body.find_first_of(" \t\r\n<"));
  const std::string_view rest = without_blanks(body.substr(name.size()));
  const bool is_name = name.find_first_of("{\"") == name.npos;
  return is_name && (rest.starts_with(kKeyTag) || kKeyTag.starts_with(rest));
}

}  // namespace

std::string call_begin(const std::string& name) {
  return "{\"name\": " + dump_exact(OrderedJson(name)) + ", \"arguments\": ";
}

std::vector<std::string> read_tagged_calls(CallForm form, std::string_view body,
                                           const ToolTypes& types) {
  return form == CallForm::kQwenTags ? read_qwen(body, types) : read_glm(body, types);
}

std::vector<TaggedCalls::Piece> TaggedCalls::push(std::string_view text) {
  std::vector<Piece> pieces;
  held_ += text;
  do {
    if (!in_call_) take_text(pieces);
  } while (in_call_ && take_call(pieces));
  return pieces;
}

// Gives out the text before the next call.
void TaggedCalls::take_text(std::vector<Piece>& pieces) {
  const size_t open = held_.find(kToolCallOpen);
  in_call_ = open != held_.npos;
  const size_t certain = in_call_ ? open : held_.size() - begun_mark(held_, kToolCallOpen);
  if (certain > 0) pieces.push_back({held_.substr(0, certain), false});
  held_.erase(0, certain);
  in_value_ = false;
  looked_at_ = kToolCallOpen.size();
}

// Gives out the call that held_ begins with, if its end is known. Each byte is looked at once.
bool TaggedCalls::take_call(std::vector<Piece>& pieces) {
  constexpr std::array<std::pair<std::string_view, bool>, 5> kTags = {{{kParameterTag, true},
                                                                       {kValueTag, true},
                                                                       {kParameterEnd, false},
                                                                       {kValueEnd, false},
                                                                       {kFunctionEnd, false}}};
  for (; (looked_at_ = std::min(held_.find('<', looked_at_), held_.size())) < held_.size();
       ++looked_at_) {
    const std::string_view rest = std::string_view(held_).substr(looked_at_);
    for (const auto& [tag, opens] : kTags) {
      if (rest.starts_with(tag)) in_value_ = opens;
      if (rest.size() < tag.size() && tag.starts_with(rest)) return false;
    }
    if (rest.size() < kToolCallClose.size() && kToolCallClose.starts_with(rest)) return false;
    if (in_value_ || !rest.starts_with(kToolCallClose)) continue;
    const size_t end = looked_at_ + kToolCallClose.size();
    const std::string whole = held_.substr(0, end);
    held_.erase(0, end);
    in_call_ = false;
    give_call(
        std::string_view(whole).substr(kToolCallOpen.size(), looked_at_ - kToolCallOpen.size()),
        whole, pieces);
    return true;
  }
  return false;
}

void TaggedCalls::give_call(std::string_view body, std::string_view as_written,
                            std::vector<Piece>& pieces) {
  const std::vector<std::string> calls = read_tagged_calls(form_, body, types_);
  if (calls.empty()) return pieces.push_back({std::string(as_written), false});
  std::string text;
  for (const std::string& call : calls) {
    if (!text.empty()) text += '\n';
    text += std::string(kToolCallOpen) + "\n" + call + "\n" + std::string(kToolCallClose);
  }
  pieces.push_back({std::move(text), true});
}

std::vector<TaggedCalls::Piece> TaggedCalls::finish(bool ended) {
  std::vector<Piece> pieces;
  const std::string rest = std::exchange(held_, {});
  if (rest.empty()) return pieces;
  if (!std::exchange(in_call_, false)) return {{rest, false}};
  std::string_view body = std::string_view(rest).substr(kToolCallOpen.size());
  body.remove_suffix(begun_mark(body, kToolCallClose));
  if (!may_become_call(form_, body)) return {{rest, false}};
  if (ended) {
    // A value that was never closed hides the mark.
    body = body.substr(0, body.find(kToolCallClose));
    give_call(body, rest, pieces);
  } else {
    pieces.push_back({std::string(kToolCallOpen) + "\n{", true});
  }
  return pieces;
}

}  // namespace cascade
