// Finds where a text can be cut without changing the result of byte pair encoding.
#include "model/tokenizer/bpe_junctions.h"

#include <algorithm>

namespace cascade {

void BpeJunctions::add(uint32_t last_of_left, uint32_t first_of_right) {
  if (last_of_left < kDense && first_of_right < kDense) {
    dense_[last_of_left * kDense + first_of_right] = true;
  } else {
    pending_.push_back(key(last_of_left, first_of_right));
  }
}

void BpeJunctions::finish() {
  std::sort(pending_.begin(), pending_.end());
  pending_.erase(std::unique(pending_.begin(), pending_.end()), pending_.end());
  sparse_ = BpeTable(pending_.size());
  for (const uint64_t pair : pending_) sparse_.insert(pair, 1);
  pending_ = {};
}

}  // namespace cascade
