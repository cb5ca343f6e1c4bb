// Moves marks along while a text is rewritten from left to right.
#include "model/tokenizer/marks.h"

namespace cascade {

std::vector<size_t> MarkMover::offsets_inside(size_t old_end) const {
  std::vector<size_t> inside;
  for (size_t i = at_; i < marks_.size() && marks_[i].offset < old_end; ++i) {
    const size_t offset = marks_[i].offset;
    if (offset > old_begin_ && (inside.empty() || inside.back() != offset)) {
      inside.push_back(offset);
    }
  }
  return inside;
}

void MarkMover::copied(size_t old_end, size_t new_end) {
  for (; has_mark_before(old_end); ++at_) {
    marks_[at_].offset = new_begin_ + (marks_[at_].offset - old_begin_);
  }
  old_begin_ = old_end;
  new_begin_ = new_end;
}

void MarkMover::replaced(size_t old_end, size_t new_end) {
  for (; has_mark_before(old_end); ++at_) {
    TextMark& mark = marks_[at_];
    const bool is_inside = mark.offset > old_begin_;
    mark.offset = is_inside && !mark.is_end ? new_end : new_begin_;
  }
  old_begin_ = old_end;
  new_begin_ = new_end;
}

void MarkMover::finish() {
  for (; at_ < marks_.size(); ++at_) marks_[at_].offset = new_begin_;
}

}  // namespace cascade
