// Finds where a text can be cut without changing the result of byte pair encoding.
#pragma once

#include <cstdint>
#include <vector>

#include "model/tokenizer/bpe_table.h"

namespace cascade {

// A merge across a position needs a rule whose left half ends with the unit (code point or byte)
// before the position and whose right half begins with the unit after it. If there is no such rule,
// the two sides never meet, and each can be merged by itself: a text of megabytes without any
// pre-tokenisation falls into short words. Immutable after finish(); any thread.
class BpeJunctions {
 public:
  // Records a rule; units are compared as numbers.
  void add(uint32_t last_of_left, uint32_t first_of_right);
  // No rule comes after this.
  void finish();

  // Whether some rule joins `before` and `after`. Precondition: finish() was called.
  bool joins(uint32_t before, uint32_t after) const {
    if (before < kDense && after < kDense) return dense_[before * kDense + after];
    return sparse_.find(key(before, after)) != BpeTable::kNone;
  }

 private:
  static constexpr uint32_t kDense = 256;  // all bytes, and nearly all code points of English
  static uint64_t key(uint32_t before, uint32_t after) {
    return static_cast<uint64_t>(before) << 32 | after;
  }

  std::vector<bool> dense_ = std::vector<bool>(kDense * kDense);
  std::vector<uint64_t> pending_;
  BpeTable sparse_;
};

}  // namespace cascade
