// A call is given out when it is complete. Half a call is never given out: nobody should read it as
// text, and it cannot be called.
#include "base/tool_call_parser.h"

#include <algorithm>
#include <utility>

#include "base/call_id.h"
#include "base/random.h"
#include "base/text_edges.h"

namespace cascade {
namespace {

// Returns, for each place, where a call is closed whose JSON begins at that place: at the first
// closing mark outside the JSON's strings; npos if there is none. Works from the end, because the
// result for each place follows from those for later places. Otherwise, calls that are never closed
// would be read to the end again and again.
std::vector<size_t> closes_of(std::string_view text) {
  std::vector<size_t> closes(text.size() + 1, text.npos);
  size_t quoted = text.npos, quoted_after = text.npos;  // the same for a place in a string
  for (size_t i = text.size(); i-- > 0;) {
    const bool quote = text[i] == '"';
    const size_t within = text[i] == '\\' ? quoted_after : quote ? closes[i + 1] : quoted;
    closes[i] = quote ? quoted : closes[i + 1];
    if (text.substr(i).starts_with(kToolCallClose)) closes[i] = i;
    quoted_after = std::exchange(quoted, within);
  }
  return closes;
}

}  // namespace

// Each byte is looked at only once: answers come in thousands of pieces, and a call may be long.
std::vector<AnswerPart> ToolCallParser::push(std::string_view text) {
  std::vector<AnswerPart> parts;
  held_ += text;
  size_t begin = 0;  // where the text that is not given out yet begins
  while (in_call_ ? end_call(begin, parts) : begin_call(begin, parts)) {
  }
  held_.erase(0, begin);
  if (in_call_) looked_at_ -= begin;
  return parts;
}

// Gives out the text before the next call. False if there is none yet.
bool ToolCallParser::begin_call(size_t& begin, std::vector<AnswerPart>& parts) {
  const std::string_view rest = std::string_view(held_).substr(begin);
  const size_t open = rest.find(kToolCallOpen);
  in_call_ = open != rest.npos;
  const size_t certain = in_call_ ? open : rest.size() - begun_mark(rest, kToolCallOpen);
  add_text(rest.substr(0, certain), parts);
  begin += certain;
  quoted_ = false;
  looked_at_ = begin + kToolCallOpen.size();
  return in_call_;
}

// Gives out the call that begins at `begin` if it is closed by a mark outside JSON strings.
// Otherwise returns false.
bool ToolCallParser::end_call(size_t& begin, std::vector<AnswerPart>& parts) {
  for (; looked_at_ < held_.size(); ++looked_at_) {
    const char byte = held_[looked_at_];
    if (quoted_ && byte == '\\') {
      ++looked_at_;
    } else if (byte == '"') {
      quoted_ = !quoted_;
    } else if (!quoted_ && byte == kToolCallClose[0]) {
      const std::string_view rest = std::string_view(held_).substr(looked_at_);
      if (rest.starts_with(kToolCallClose)) {
        take_call(begin, looked_at_, parts);
        begin = looked_at_ + kToolCallClose.size();
        in_call_ = false;
        return true;
      }
      if (kToolCallClose.starts_with(rest)) return false;
    }
  }
  return false;
}

void ToolCallParser::take_call(size_t open, size_t close, std::vector<AnswerPart>& parts) {
  const size_t begin = open + kToolCallOpen.size();
  add_call(std::string_view(held_).substr(begin, close - begin), parts);
}

std::vector<AnswerPart> ToolCallParser::finish(bool cut) {
  std::vector<AnswerPart> parts;
  const std::vector<size_t> closes = closes_of(held_);
  size_t begin = 0;
  while (true) {
    const size_t open = held_.find(kToolCallOpen, begin);
    if (open == held_.npos) break;
    size_t close = closes[open + kToolCallOpen.size()];
    // A quote that was never closed hid the marks after it. If the answer was cut, the quote may
    // just be still open.
    if (close == held_.npos && !cut) close = held_.find(kToolCallClose, open);
    if (close == held_.npos) break;
    add_text(std::string_view(held_).substr(begin, open - begin), parts);
    take_call(open, close, parts);
    begin = close + kToolCallClose.size();
  }
  finish_open_calls(std::string_view(held_).substr(begin), cut, parts);
  held_.clear();
  in_call_ = false;
  if (left_out_call_) space_.clear();
  if (calls_ == 0 && !space_.empty()) parts.push_back({std::exchange(space_, {}), {}});
  return parts;
}

// Handles the end of an answer, where calls are not closed.
void ToolCallParser::finish_open_calls(std::string_view rest, bool cut,
                                       std::vector<AnswerPart>& parts) {
  for (size_t open; (open = rest.find(kToolCallOpen)) != rest.npos;) {
    add_text(rest.substr(0, open), parts);
    std::string_view body = rest.substr(open + kToolCallOpen.size());
    if (begins_call(body)) {
      // Only the closing mark may be missing.
      body.remove_suffix(begun_mark(body, kToolCallClose));
      auto call = whole_call(body);
      left_out_call_ = !call;
      if (call) give_call(*std::move(call), parts);
      return;
    }
    add_text(kToolCallOpen, parts);
    rest = body;
  }
  finish_text(rest, cut, parts);
}

// Handles text whose end may be half of a call's mark. The end certainly is half a mark if it is
// longer than other texts that begin like one (<to, <too), or if it is where calls begin: at the
// beginning of the answer, after a call, or on a new line.
void ToolCallParser::finish_text(std::string_view rest, bool cut, std::vector<AnswerPart>& parts) {
  constexpr size_t kCertain = 5;
  const size_t half = begun_mark(rest, kToolCallOpen);
  add_text(rest.substr(0, rest.size() - half), parts);
  const bool at_begin = !any_text_ || calls_ > 0 || space_.find('\n') != space_.npos;
  left_out_call_ = cut && half > 0 && (half >= kCertain || at_begin);
  if (!left_out_call_) add_text(rest.substr(rest.size() - half), parts);
}

// White space waits until it is known that no call follows.
void ToolCallParser::add_text(std::string_view text, std::vector<AnswerPart>& parts) {
  const size_t last = text.find_last_not_of(kBlanks);
  if (last == std::string_view::npos) {
    space_ += text;
    return;
  }
  std::string out = any_text_ || calls_ == 0 ? std::exchange(space_, {}) : "";
  out += text.substr(0, last + 1);
  space_ = text.substr(last + 1);
  any_text_ = true;
  parts.push_back({std::move(out), {}});
}

void ToolCallParser::add_call(std::string_view body, std::vector<AnswerPart>& parts) {
  auto call = whole_call(body);
  if (!call) {
    // The model may have begun the call anew: then what follows the last mark is the whole call.
    if (const size_t again = body.rfind(kToolCallOpen); again != body.npos) {
      auto last = whole_call(body.substr(again + kToolCallOpen.size()));
      if (last && begins_call(body.substr(0, again))) call = std::move(last);
    }
  }
  if (!call) call = damaged_call(body);
  if (call) return give_call(*std::move(call), parts);
  add_text(std::string(kToolCallOpen) + std::string(body) + std::string(kToolCallClose), parts);
}

void ToolCallParser::give_call(ToolCallText made, std::vector<AnswerPart>& parts) {
  space_.clear();
  if (++calls_ > 1 && !parallel_) return;
  ToolCall call;
  call.id =
      call_id_of(id_prefix_.empty() ? random_id("call") : id_prefix_ + std::to_string(calls_ - 1));
  call.name = std::move(made.name);
  call.arguments = std::move(made.arguments);
  parts.push_back({"", {std::move(call)}});
}

bool ends_in_half_call(std::string_view answer, bool cut) {
  ToolCallParser parser(/*parallel=*/true);
  (void)parser.push(answer);
  (void)parser.finish(cut);
  return parser.left_out_call();
}

}  // namespace cascade
