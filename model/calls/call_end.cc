// What ends a call differs by form; a table says which tags are around values.
#include "model/calls/call_end.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text_edges.h"
#include "model/calls/tagged_body.h"
#include "model/mark_bytes.h"

namespace cascade {
namespace {

// Whether `text` is a part of `mark`, from its beginning.
bool is_half(std::string_view text, std::string_view mark) {
  return text.size() < mark.size() && mark.starts_with(text);
}

bool is_token(std::string_view mark) {
  return mark.starts_with(kMarkByte);
}

}  // namespace

std::optional<CallEnd::Found> CallEnd::find(std::string_view text, const CallMarks& marks) {
  const bool is_tagged = has_tags(marks.form) && looks_for_tags(text);
  return is_tagged ? find_after_values(text, marks.close) : find_mark_or_bracket(text, marks);
}

// Whether a call of a form with tags has them, rather than JSON. True while that is not known.
bool CallEnd::looks_for_tags(std::string_view text) {
  if (!begin_) {
    at_ = std::min(text.find_first_not_of(kBlanks, at_), text.size());
    if (at_ < text.size()) begin_ = text[at_];
  }
  return begin_ != '{';
}

std::optional<CallEnd::Found> CallEnd::find_after_values(std::string_view text,
                                                         std::string_view close) {
  constexpr std::array<std::pair<std::string_view, bool>, 5> kTags = {{{kParameterTag, true},
                                                                       {kValueTag, true},
                                                                       {kParameterEnd, false},
                                                                       {kValueEnd, false},
                                                                       {kFunctionEnd, false}}};
  const char first[] = {'<', kMarkByte};
  for (; (at_ = std::min(text.find_first_of({first, 2}, at_), text.size())) < text.size(); ++at_) {
    const std::string_view rest = text.substr(at_);
    for (const auto& [tag, opens] : kTags) {
      if (rest.starts_with(tag)) in_value_ = opens;
      if (is_half(rest, tag)) return std::nullopt;
    }
    if (is_half(rest, close)) return std::nullopt;
    const bool may_end = !in_value_ || is_token(close);
    if (may_end && rest.starts_with(close)) return Found{at_, at_ + close.size()};
  }
  return std::nullopt;
}

std::optional<CallEnd::Found> CallEnd::find_mark_or_bracket(std::string_view text,
                                                            const CallMarks& marks) {
  for (; at_ < text.size(); ++at_) {
    const char byte = text[at_];
    if (quote_ != 0 && byte != kMarkByte) {
      if (byte == quote_) quote_ = 0;
      if (byte != '\\') continue;
      if (at_ + 1 == text.size()) return std::nullopt;
      if (text[at_ + 1] != kMarkByte) ++at_;
      continue;
    }
    Found found = {at_, at_};
    switch (see_mark(text.substr(at_), marks, found)) {
      case Seen::kEnd: return found;
      case Seen::kHalf: return std::nullopt;
      case Seen::kNothing: break;
    }
    if (found.call > at_) {  // a mark within the call
      at_ = found.call - 1;
    } else if (is_quote(byte, marks)) {
      quote_ = byte;
    } else if (marks.close.empty() && see_bracket(byte)) {
      return Found{at_ + 1, at_ + 1};
    }
  }
  return std::nullopt;
}

// Looks at a mark that `rest` may begin with. A mark that does not end the call moves `found.call`
// to the mark's end.
CallEnd::Seen CallEnd::see_mark(std::string_view rest, const CallMarks& marks, Found& found) const {
  const std::string_view close = marks.close, open = marks.open;
  const bool counts = depth_ == 0 || rest.starts_with(kMarkByte);
  if (!counts) return Seen::kNothing;
  if (is_half(rest, open) || is_half(rest, close)) return Seen::kHalf;
  if (!close.empty() && rest.starts_with(close)) {
    found.call += close.size();
    return Seen::kEnd;
  }
  if (rest.starts_with(open)) return Seen::kEnd;
  for (const std::string_view mark : marks.within) {
    if (is_half(rest, mark)) return Seen::kHalf;
    if (rest.starts_with(mark)) found.call += mark.size();
  }
  return Seen::kNothing;
}

// Counts brackets. True if this one closes the first one.
bool CallEnd::see_bracket(char byte) {
  constexpr std::string_view kOpening = "([{", kClosing = ")]}";
  if (kOpening.find(byte) != kOpening.npos && ++depth_ == 1) first_ = byte;
  return depth_ > 0 && kClosing.find(byte) != kClosing.npos && --depth_ == 0;
}

// Whether a string begins here, in which brackets and marks that are text do not count.
bool CallEnd::is_quote(char byte, const CallMarks& marks) const {
  if (is_token(marks.close) || marks.form == CallForm::kGemma) return false;
  if (marks.close.empty() && depth_ == 0) return false;
  const bool is_json = marks.form == CallForm::kMistral || marks.form == CallForm::kGranite3 ||
                       marks.form == CallForm::kLlama3 || has_tags(marks.form);
  return byte == '"' || (byte == '\'' && (!is_json || first_ == '('));
}

}  // namespace cascade
