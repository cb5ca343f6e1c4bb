// A switch between two streams, each with its own rules at the edges.
#include "model/output_stream.h"

#include <algorithm>
#include <cstdint>

#include "model/calls/call_json.h"

namespace cascade {
namespace {

// The longest suffix of `text` that is the beginning of one of `stops`.
size_t possible_stop_suffix(std::string_view text, const std::vector<std::string>& stops,
                            size_t stop_bytes_max) {
  const size_t longest = std::min(text.size(), stop_bytes_max == 0 ? 0 : stop_bytes_max - 1);
  for (size_t size = longest; size > 0; --size) {
    const std::string_view suffix = text.substr(text.size() - size);
    for (const std::string& stop : stops) {
      if (std::string_view(stop).starts_with(suffix)) return size;
    }
  }
  return 0;
}

}  // namespace

OutputStream::OutputStream(const Tokenizer& tokenizer, bool inside_think,
                           std::vector<std::string> stop, bool goes_on,
                           std::optional<CallTranslator> calls,
                           std::optional<HarmonyReader> harmony)
    : tokenizer_(tokenizer),
      think_(tokenizer.think_tokens()),
      marks_(HarmonyTokens::of(tokenizer)),
      harmony_(harmony ? *harmony
                       : HarmonyReader(inside_think ? HarmonyPart::kThoughts
                                       : goes_on    ? HarmonyPart::kAnswer
                                                    : HarmonyPart::kHeader)),
      calls_(std::move(calls)),
      goes_on_(goes_on),
      stop_(std::move(stop)),
      decoder_(tokenizer, /*skip_special=*/true, goes_on && !inside_think),
      thoughts_(think_ ? think_->header : ""),
      thinking_(inside_think) {
  for (const std::string& s : stop_) stop_bytes_max_ = std::max(stop_bytes_max_, s.size());
  if (!inside_think) return;
  think_spans_.push_back({0, 0, false});
  thoughts_.begin_block(/*has_header=*/true);
}

std::vector<OutputStream::Piece> OutputStream::push(int32_t token) {
  std::vector<Piece> pieces;
  if (stopped_) return pieces;
  tokens_.push_back(token);
  marks_ ? push_harmony(token, pieces) : push_plain(token, pieces);
  return pieces;
}

void OutputStream::push_plain(int32_t token, std::vector<Piece>& pieces) {
  const auto end = static_cast<int32_t>(tokens_.size());
  if (think_ && token == think_->open) {
    if (!thinking_) {
      toggle(true, pieces);
      think_spans_.push_back({end - 1, end, false});
    }
    think_spans_.back().end = end;  // another opening token inside a block is part of it
  } else if (think_ && token == think_->close) {
    if (thinking_) think_spans_.back().closed = true;
    // A stray closing token is not text either.
    if (!thinking_) think_spans_.push_back({end - 1, end, true});
    toggle(false, pieces);
    think_spans_.back().end = end;
  } else if (const auto mark = calls_ ? calls_->mark_of(token) : ""; !mark.empty()) {
    push_call_mark(mark, pieces);
  } else {
    add_text(decoder_.push(token), pieces);
    if (thinking_) think_spans_.back().end = end;
  }
}

// A call within thoughts ends them.
void OutputStream::push_call_mark(std::string_view mark, std::vector<Piece>& pieces) {
  if (thinking_) {
    if (!calls_->opens_call(mark)) {
      think_spans_.back().end = static_cast<int32_t>(tokens_.size());
      return;
    }
    toggle(false, pieces);
  }
  add_text(decoder_.finish(), pieces);
  decoder_ = Tokenizer::StreamDecoder(tokenizer_, /*skip_special=*/true, /*goes_on=*/true);
  strip_newlines_ = false;
  if (!stopped_) add_calls(calls_->push(mark), pieces);
}

void OutputStream::push_harmony(int32_t token, std::vector<Piece>& pieces) {
  const auto end = static_cast<int32_t>(tokens_.size());
  const HarmonyPart before = harmony_.part();
  const auto mark = marks_->mark_of(token);
  std::string text;
  bool is_text = false;
  if (mark) {
    end_text(pieces);
    harmony_.push(*mark);
  } else {
    text = decoder_.push(token);
    is_text = harmony_.push(text);
  }
  const HarmonyPart part = harmony_.part();
  const bool is_answer = part == HarmonyPart::kAnswer || part == HarmonyPart::kCall;
  if (!is_text || !is_answer) {
    const bool goes_on = !think_spans_.empty() && !think_spans_.back().closed;
    if (!goes_on) think_spans_.push_back({end - 1, end, false});
    think_spans_.back().end = end;
    think_spans_.back().closed = is_answer;
  }
  if (is_text) return add_text(std::move(text), pieces);
  if (part == before) return;
  if (before == HarmonyPart::kCall) give_call(/*complete=*/true, pieces);
  begin_part(pieces);
}

// Begins the part that the harmony reader is in.
void OutputStream::begin_part(std::vector<Piece>& pieces) {
  const HarmonyPart part = harmony_.part();
  if (part == HarmonyPart::kHeader || stopped_) return;
  emit_answer(answer_.size(), pieces);  // no stop string goes on in another message
  stopped_ = part == HarmonyPart::kOthers;
  if (stopped_) return;
  toggle(part == HarmonyPart::kThoughts, pieces);
  joins_ = part == HarmonyPart::kAnswer && !answer_.empty();
}

// Ends the text before a mark of harmony.
void OutputStream::end_text(std::vector<Piece>& pieces) {
  std::string text = decoder_.finish();
  decoder_ = Tokenizer::StreamDecoder(tokenizer_, /*skip_special=*/true);
  if (!text.empty() && harmony_.push(text)) add_text(std::move(text), pieces);
}

// Adds the call that the harmony reader is in.
void OutputStream::give_call(bool complete, std::vector<Piece>& pieces) {
  const std::string arguments = std::exchange(call_, {});
  if (stopped_) return;
  const std::string& name = harmony_.function();
  std::string text = answer_.empty() ? "" : "\n";
  text += complete ? marked_call(call_json(name, call_arguments(arguments)))
                   : std::string(kToolCallOpen) + "\n" + call_begin(name);
  add_mark(text, pieces);
}

// Adds text that the model did not write, in which stop strings do not count.
void OutputStream::add_mark(std::string_view text, std::vector<Piece>& pieces) {
  answer_ += text;
  emit_answer(answer_.size(), pieces);
}

// Ends the current block and begins one of the other kind.
void OutputStream::toggle(bool thinking, std::vector<Piece>& pieces) {
  add_text(decoder_.finish(), pieces);
  if (calls_ && !thinking_ && !stopped_) add_calls(calls_->finish(/*ended=*/true), pieces);
  decoder_ = Tokenizer::StreamDecoder(tokenizer_, /*skip_special=*/true);
  thinking_ = thinking;
  strip_newlines_ = !thinking;
  if (thinking) thoughts_.begin_block(/*has_header=*/false);
}

void OutputStream::add_text(std::string text, std::vector<Piece>& pieces) {
  if (thinking_) {
    std::string thoughts = thoughts_.push(text);
    if (!thoughts.empty()) pieces.push_back({std::move(thoughts), true});
    return;
  }
  if (strip_newlines_) {
    text.erase(0, std::min(text.find_first_not_of('\n'), text.size()));
    if (text.empty()) return;
    strip_newlines_ = false;
  }
  if (text.empty()) return;
  if (marks_ && harmony_.part() == HarmonyPart::kCall) {
    call_ += text;
    return;
  }
  if (std::exchange(joins_, false)) add_mark("\n\n", pieces);
  calls_ ? add_calls(calls_->push(text), pieces) : add_answer(text, pieces);
}

void OutputStream::add_calls(std::vector<CallTranslator::Piece> read, std::vector<Piece>& pieces) {
  for (const CallTranslator::Piece& piece : read) {
    if (stopped_) return;
    piece.is_call ? add_mark(piece.text, pieces) : add_answer(piece.text, pieces);
  }
}

void OutputStream::add_answer(const std::string& text, std::vector<Piece>& pieces) {
  // A stop string may have begun in text that was held back, never in text that was emitted.
  const size_t from = answer_emitted_;
  answer_ += text;
  size_t found = std::string::npos;
  for (const std::string& stop : stop_) found = std::min(found, answer_.find(stop, from));
  if (found != std::string::npos) {
    stopped_ = true;
    answer_.resize(found);
    emit_answer(found, pieces);
    return;
  }
  const size_t held =
      possible_stop_suffix(std::string_view(answer_).substr(from), stop_, stop_bytes_max_);
  emit_answer(answer_.size() - held, pieces);
}

void OutputStream::emit_answer(size_t end, std::vector<Piece>& pieces) {
  if (end <= answer_emitted_) return;
  pieces.push_back({answer_.substr(answer_emitted_, end - answer_emitted_), false});
  answer_emitted_ = end;
}

std::vector<OutputStream::Piece> OutputStream::finish(bool ended) {
  std::vector<Piece> pieces;
  if (!stopped_) {
    add_text(decoder_.finish(), pieces);
    if (calls_ && !stopped_) add_calls(calls_->finish(ended), pieces);
    emit_answer(answer_.size(), pieces);
    const bool calls = marks_ && harmony_.part() == HarmonyPart::kCall;
    if (calls) give_call(ended, pieces);
  }
  return pieces;
}

size_t OutputStream::bytes() const {
  return answer_.size() + reasoning().size() + call_.size() + (calls_ ? calls_->held_bytes() : 0);
}

std::string OutputStream::raw_text() const {
  return *tokenizer_.decode(tokens_, /*skip_special=*/false, SIZE_MAX, goes_on_);
}

int64_t OutputStream::reasoning_tokens() const {
  int64_t count = 0;
  for (const ThinkSpan& span : think_spans_) count += span.end - span.begin;
  return count;
}

}  // namespace cascade
