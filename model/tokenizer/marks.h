// Moves marks along while a text is rewritten from left to right.
#pragma once

#include <cstddef>
#include <vector>

#include "model/tokenizer/normalizer.h"

namespace cascade {

// `marks` are in ascending order. Each call says what became of the next stretch of the old text;
// the stretches cover all of it, in order.
class MarkMover {
 public:
  explicit MarkMover(std::vector<TextMark>& marks) : marks_(marks) {}

  // Whether the next mark's offset in the old text is before `old_end`.
  bool has_mark_before(size_t old_end) const {
    return at_ < marks_.size() && marks_[at_].offset < old_end;
  }
  // The offsets of the next marks that are strictly between here and `old_end`.
  std::vector<size_t> offsets_inside(size_t old_end) const;

  // Up to `old_end` the text was copied; the new text now ends at `new_end`.
  void copied(size_t old_end, size_t new_end);
  // Up to `old_end` the text was replaced as a whole. Marks inside the replaced stretch move so
  // that the new stretch is outside their range.
  void replaced(size_t old_end, size_t new_end);
  // The old text has ended.
  void finish();

 private:
  std::vector<TextMark>& marks_;
  size_t at_ = 0;
  size_t old_begin_ = 0;
  size_t new_begin_ = 0;
};

}  // namespace cascade
