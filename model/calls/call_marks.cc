// A table of spellings.
#include "model/calls/call_marks.h"

#include <algorithm>
#include <array>

#include "base/check.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

struct Spellings {
  CallForm form;
  std::string_view open, close;
  bool may_be_bare;
  std::array<std::string_view, 2> within;  // empty: none
};

constexpr std::array<Spellings, 9> kSpellings = {{
    {CallForm::kQwenTags, "<tool_call>", "</tool_call>", false, {}},
    {CallForm::kGlmTags, "<tool_call>", "</tool_call>", false, {}},
    {CallForm::kGemma, "<|tool_call>", "<tool_call|>", false, {kGemmaStringMark}},
    {CallForm::kMistral, "[TOOL_CALLS]", "", false, {"[ARGS]", "[CALL_ID]"}},
    {CallForm::kGranite3, "<|tool_call|>", "", false, {}},
    {CallForm::kOlmo, "<function_calls>", "</function_calls>", false, {}},
    {CallForm::kLfm, "<|tool_call_start|>", "<|tool_call_end|>", false, {}},
    {CallForm::kLlama3, "<|python_tag|>", "", true, {}},
    {CallForm::kLlama4, "<|python_start|>", "", true, {"<|python_end|>"}},
}};

const Spellings& spellings_of(CallForm form) {
  const auto* const found = std::ranges::find(kSpellings, form, &Spellings::form);
  CHECK(found != kSpellings.end());
  return *found;
}

// Whether `text` begins with a mark of any form, and how many `bytes` the mark has.
bool begins_with_spelling(std::string_view text, size_t& bytes) {
  for (const Spellings& marks : kSpellings) {
    for (const std::string_view mark :
         {marks.open, marks.close, marks.within[0], marks.within[1]}) {
      bytes = mark.size();
      if (!mark.empty() && text.starts_with(mark)) return true;
    }
  }
  return false;
}

}  // namespace

std::string_view CallMarks::text_of(int32_t token) const {
  const auto found = std::ranges::find(tokens, token, &std::pair<int32_t, std::string>::first);
  return found == tokens.end() ? std::string_view() : found->second;
}

CallMarks call_marks(CallForm form) {
  const Spellings& spelled = spellings_of(form);
  CallMarks marks = {
      form, std::string(spelled.open), std::string(spelled.close), spelled.may_be_bare, {}, {}};
  for (const std::string_view mark : spelled.within) {
    if (!mark.empty()) marks.within.emplace_back(mark);
  }
  return marks;
}

CallMarks call_marks(CallForm form, const Tokenizer& tokenizer) {
  CallMarks marks = call_marks(form);
  const auto find_token = [&](std::string& mark) {
    const auto id = mark.empty() ? std::nullopt : tokenizer.token_id(mark);
    if (!id || !tokenizer.is_special(*id)) return;
    mark = mark_bytes(mark);
    marks.tokens.emplace_back(*id, mark);
  };
  find_token(marks.open);
  find_token(marks.close);
  for (std::string& mark : marks.within) find_token(mark);
  return marks;
}

std::string without_marks(std::string_view text) {
  std::string out;
  while (true) {
    const size_t at = std::min(text.find(kMarkByte), text.size());
    out += text.substr(0, at);
    text.remove_prefix(at);
    if (text.empty()) return out;
    text.remove_prefix(1);
    size_t bytes = 0;
    if (begins_with_spelling(text, bytes)) text.remove_prefix(bytes);
  }
}

}  // namespace cascade
