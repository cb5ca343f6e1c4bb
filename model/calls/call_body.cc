// A table of readers.
#include "model/calls/call_body.h"

#include <algorithm>

#include "base/text_edges.h"
#include "model/calls/json_body.h"
#include "model/calls/relaxed_body.h"
#include "model/calls/tagged_body.h"

namespace cascade {
namespace {

// Whether one of the texts begins with the other.
bool may_agree(std::string_view text, std::string_view other) {
  return text.starts_with(other) || other.starts_with(text);
}

bool may_become_glm(std::string_view body) {
  const std::string_view name = body.substr(0, body.find_first_of(" \t\r\n<"));
  const std::string_view rest = trimmed(body.substr(name.size()));
  return name.find_first_of("{\"") == name.npos && may_agree(rest, kKeyTag);
}

// Whether an object may begin as a call of a known function does: with its name, or with its type,
// which is "function".
bool may_become_llama3(std::string_view body, const ToolTypes& types) {
  if (!body.starts_with('{')) return may_agree(body, "{");
  body = trimmed(body.substr(1));
  for (const std::string_view key : {"\"name\"", "\"type\""}) {
    if (!may_agree(body, key)) continue;
    std::string_view value = trimmed(body.substr(std::min(key.size(), body.size())));
    if (!value.starts_with(':')) return value.empty();
    value = trimmed(value.substr(1));
    if (key == "\"type\"") return may_agree(value, "\"function\"");
    if (!value.starts_with('"')) return value.empty();
    const size_t end = value.find('"', 1);
    return end == value.npos || types.has(value.substr(1, end - 1));
  }
  return false;
}

// Whether a list may begin with a call of a known function.
bool may_become_list(std::string_view body, const ToolTypes& types) {
  if (!body.starts_with('[')) return may_agree(body, "[");
  body = trimmed(body.substr(1));
  const size_t end = body.find('(');
  const std::string_view name = body.substr(0, end);
  return end == body.npos ? name.find_first_of(" \t\r\n\"'{}[],") == name.npos : types.has(name);
}

}  // namespace

std::vector<std::string> read_calls(CallForm form, std::string_view body, const ToolTypes& types) {
  switch (form) {
    case CallForm::kJson: return {};
    case CallForm::kQwenTags: return read_qwen_tags(body, types);
    case CallForm::kGlmTags: return read_glm_tags(body, types);
    case CallForm::kGemma: return read_gemma(body, types);
    case CallForm::kMistral: return read_mistral(body);
    case CallForm::kGranite3: return read_call_list(body);
    case CallForm::kLlama3: return read_llama3(body, types);
    case CallForm::kOlmo:
    case CallForm::kLfm:
    case CallForm::kLlama4: break;
  }
  std::vector<std::string> calls = read_call_list(body);  // these models write lists of JSON, too
  const bool only_known = form == CallForm::kLlama4;
  return calls.empty() ? read_pythonic(body, types, only_known) : calls;
}

bool may_become_call(CallForm form, std::string_view body, bool is_bare, const ToolTypes& types) {
  body = trimmed(body);
  if (form == CallForm::kQwenTags) return may_agree(body, kFunctionTag);
  if (form == CallForm::kGlmTags) return may_become_glm(body);
  if (!is_bare) return true;  // nothing but calls comes after their marks
  return form == CallForm::kLlama3 ? may_become_llama3(body, types) : may_become_list(body, types);
}

}  // namespace cascade
