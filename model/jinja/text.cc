// Marked text: appending and slicing with the marks kept.
#include "model/jinja/text.h"

#include "base/check.h"

namespace cascade::jinja {

MarkedText::MarkedText(std::string_view text, bool trusted)
    : text_(text), starts_trusted_(trusted) {}

bool MarkedText::trusted_at(size_t offset) const {
  const auto flips_before = std::upper_bound(flips_.begin(), flips_.end(), offset) - flips_.begin();
  return starts_trusted_ != (flips_before % 2 == 1);
}

void MarkedText::append(std::string_view text, bool trusted) {
  if (text.empty()) return;
  if (text_.empty()) {
    starts_trusted_ = trusted;
  } else if (last_trusted() != trusted) {
    flips_.push_back(text_.size());
  }
  text_ += text;
}

void MarkedText::append(const MarkedText& source) {
  append(source, 0, source.size());
}

void MarkedText::append(const MarkedText& source, size_t begin, size_t end) {
  CHECK(&source != this && begin <= end && end <= source.size());
  source.for_each_run(begin, end, [&](size_t run_begin, size_t run_end, bool trusted) {
    append(source.view().substr(run_begin, run_end - run_begin), trusted);
  });
}

MarkedText MarkedText::slice(size_t begin, size_t end) const {
  MarkedText part;
  part.reserve(end - begin);
  part.append(*this, begin, end);
  return part;
}

SpannedText MarkedText::spans() const {
  SpannedText spans;
  spans.reserve(flips_.size() + 1);
  for_each_run(0, size(), [&](size_t begin, size_t end, bool trusted) {
    append_span(spans, view().substr(begin, end - begin), trusted);
  });
  return spans;
}

}  // namespace cascade::jinja
