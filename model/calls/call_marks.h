// The marks around the calls of a form.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/calls/call_form.h"
#include "model/tokenizer.h"

namespace cascade {

// Gemma writes this mark before and after each string.
inline constexpr std::string_view kGemmaStringMark = "<|\"|>";

// How the marks are spelled in the text of an answer: a mark that is a special token of the model
// is mark_bytes() (model/mark_bytes.h), any other is plain text. Immutable; any thread.
struct CallMarks {
  CallForm form = CallForm::kJson;
  std::string open;   // before a call
  std::string close;  // after a call; empty if the form has none, or does not need it
  // Whether a call without a mark may be at the beginning of an answer.
  bool may_be_bare = false;
  std::vector<std::string> within;  // other marks, within calls
  // The special tokens among the marks.
  std::vector<std::pair<int32_t, std::string>> tokens;

  // The text of a token that is a mark; empty if it is none.
  std::string_view text_of(int32_t token) const;
};

// The marks of a form. `form` is not kJson.
CallMarks call_marks(CallForm form, const Tokenizer& tokenizer);

// The same for a model without such special tokens.
CallMarks call_marks(CallForm form);

// `text` without the marks that are special tokens, which are no text of an answer.
std::string without_marks(std::string_view text);

}  // namespace cascade
