// A string that knows, for each of its bytes, whether it may name special tokens.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "model/jinja/paid.h"
#include "model/spanned_text.h"

namespace cascade::jinja {

// UTF-8 text with a trust mark per byte. Marks are kept as the offsets where they flip, so text of
// one origin costs nothing extra. Offsets are in bytes.
//
// The only ways to make trusted bytes are the constructor and append(text, true): the caller that
// passes `true` vouches for the text. Everything else copies bytes with their marks.
class MarkedText {
 public:
  MarkedText() = default;
  MarkedText(std::string_view text, bool trusted);

  std::string_view view() const { return text_; }
  size_t size() const { return text_.size(); }
  bool empty() const { return text_.empty(); }

  // Precondition: offset < size().
  bool trusted_at(size_t offset) const;

  // Makes room for a text of `bytes`, so that it is allocated once.
  void reserve(size_t bytes) { text_.reserve(bytes); }

  // Preconditions of the last two: `source` is another object; begin <= end <= source.size().
  void append(std::string_view text, bool trusted);
  void append(const MarkedText& source);
  void append(const MarkedText& source, size_t begin, size_t end);
  MarkedText slice(size_t begin, size_t end) const;

  // Calls visit(begin, end, trusted) for each run of one mark inside [begin, end), in order.
  template <class Visit>
  void for_each_run(size_t begin, size_t end, Visit visit) const;

  // Bytes that a copy takes, marks included.
  size_t bytes_held() const { return text_.size() + flips_.size() * sizeof(size_t); }

  SpannedText spans() const;
  // Bytes that spans() takes.
  size_t span_bytes() const { return (flips_.size() + 1) * (sizeof(TextSpan) + 1) + text_.size(); }

 private:
  bool last_trusted() const { return starts_trusted_ != (flips_.size() % 2 == 1); }

  PaidString text_;
  bool starts_trusted_ = false;
  PaidVector<size_t> flips_;  // ascending, each in (0, size())
};

template <class Visit>
void MarkedText::for_each_run(size_t begin, size_t end, Visit visit) const {
  size_t next_flip =
      static_cast<size_t>(std::upper_bound(flips_.begin(), flips_.end(), begin) - flips_.begin());
  while (begin < end) {
    const bool trusted = starts_trusted_ != (next_flip % 2 == 1);
    const size_t run_end = next_flip < flips_.size() ? std::min(flips_[next_flip], end) : end;
    visit(begin, run_end, trusted);
    begin = run_end;
    ++next_flip;
  }
}

}  // namespace cascade::jinja
