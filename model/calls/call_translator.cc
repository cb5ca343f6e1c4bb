// A call is held back until its end is known.
#include "model/calls/call_translator.h"

#include <algorithm>

#include "base/text_edges.h"
#include "model/calls/call_body.h"
#include "model/calls/call_json.h"

namespace cascade {
namespace {

// What models write between two calls that have no marks.
constexpr std::string_view kSeparators = " \t\r\n;,";
// How many bytes may pass until it is known whether an answer begins with a call that has no mark:
// more than a name and blanks take.
constexpr size_t kUndecidedMax = 512;
// How many calls that hid the marks after them are read again, so that many take no longer.
constexpr int kHiddenMax = 64;

}  // namespace

std::vector<CallTranslator::Piece> CallTranslator::push(std::string_view text) {
  std::vector<Piece> pieces;
  held_ += text;
  while (end_ ? take_call(pieces) : take_text(pieces)) {
  }
  return pieces;
}

// Gives out the text before the next call. False if there is none yet.
bool CallTranslator::take_text(std::vector<Piece>& pieces) {
  if (may_be_bare_) {
    const size_t first = held_.find_first_not_of(kSeparators);
    if (first == held_.npos && held_.size() <= kUndecidedMax) return false;
    if (first == held_.npos) {
      may_be_bare_ = false;
      return true;
    }
    const char bracket = marks_.form == CallForm::kLlama3 ? '{' : '[';
    may_be_bare_ =
        held_[first] == bracket || held_.compare(first, marks_.open.size(), marks_.open) == 0;
    if (held_[first] == bracket) {
      if (!after_call_) give_text(std::string_view(held_).substr(0, first), pieces);
      held_.erase(0, first);
      body_ = 0;
      end_.emplace(body_);
      return true;
    }
  }
  const size_t open = held_.find(marks_.open);
  const bool is_call = open != held_.npos;
  const size_t certain = is_call ? open : held_.size() - begun_mark(held_, marks_.open);
  give_text(std::string_view(held_).substr(0, certain), pieces);
  held_.erase(0, certain);
  body_ = marks_.open.size();
  if (is_call) end_.emplace(body_);
  return is_call;
}

// Gives out the call that held_ begins with. False if its end is not known yet.
bool CallTranslator::take_call(std::vector<Piece>& pieces) {
  const bool is_bare = body_ == 0;
  const std::string_view begin = std::string_view(held_).substr(0, kUndecidedMax);
  if (is_bare && !may_become_call(marks_.form, begin, is_bare, types_)) {
    may_be_bare_ = false;
    end_.reset();
    return true;
  }
  const auto found = end_->find(held_, marks_);
  if (!found) return false;
  const std::string whole = held_.substr(0, found->call);
  held_.erase(0, found->call);
  end_.reset();
  give_call(std::string_view(whole).substr(body_, found->body - body_), whole, pieces);
  return true;
}

void CallTranslator::give_call(std::string_view body, std::string_view as_written,
                               std::vector<Piece>& pieces) {
  const std::vector<std::string> calls = read_calls(marks_.form, body, types_);
  if (calls.empty()) {
    may_be_bare_ = false;
    return give_text(as_written, pieces);
  }
  std::string text;
  for (const std::string& call : calls) {
    if (!at_line_begin_) text += '\n';
    text += marked_call(call);
    at_line_begin_ = false;
  }
  after_call_ = true;
  may_be_bare_ = marks_.may_be_bare;
  pieces.push_back({std::move(text), true});
}

void CallTranslator::give_text(std::string_view text, std::vector<Piece>& pieces) {
  std::string plain = without_marks(text);
  if (plain.empty()) return;
  after_call_ = false;
  at_line_begin_ = plain.ends_with('\n');
  pieces.push_back({std::move(plain), false});
}

std::vector<CallTranslator::Piece> CallTranslator::finish(bool ended) {
  std::vector<Piece> pieces;
  for (int hidden = 0; !held_.empty(); ++hidden) {
    const std::string after = finish_call(ended, pieces);
    if (hidden == kHiddenMax) {
      give_text(after, pieces);
      break;
    }
    for (Piece& piece : push(after)) pieces.push_back(std::move(piece));
  }
  return pieces;
}

// Gives out what is held at the end of the answer. Returns the text after the closing mark of a
// call if a value that was never closed hid the mark.
std::string CallTranslator::finish_call(bool ended, std::vector<Piece>& pieces) {
  const std::string rest = std::exchange(held_, {});
  const bool is_call = end_.has_value();
  end_.reset();
  const bool is_separator = marks_.may_be_bare && after_call_ && !is_call &&
                            rest.find_first_not_of(kSeparators) == rest.npos;
  if (is_separator) return "";
  std::string_view body = is_call ? std::string_view(rest).substr(body_) : std::string_view();
  const std::string_view close = marks_.close;
  if (!close.empty()) body.remove_suffix(begun_mark(body, close));
  if (!is_call || !may_become_call(marks_.form, body, body_ == 0, types_)) {
    give_text(rest, pieces);
    return "";
  }
  if (!ended) {
    pieces.push_back({std::string(kToolCallOpen) + "\n{", true});
    return "";
  }
  const size_t end = close.empty() ? body.npos : body.find(close);
  if (end == body.npos) {
    give_call(body, rest, pieces);
    return "";
  }
  const size_t whole = body_ + end + close.size();
  give_call(body.substr(0, end), std::string_view(rest).substr(0, whole), pieces);
  return rest.substr(whole);
}

}  // namespace cascade
