// An open-addressing hash table from 64-bit keys to 64-bit values.
#include "model/tokenizer/bpe_table.h"

#include <bit>

#include "base/check.h"
#include "base/random.h"

namespace cascade {

// Half full at most, so that a miss looks at two slots on average.
BpeTable::BpeTable(size_t count)
    : slots_(std::bit_ceil(2 * count + 1)),
      mask_(slots_.size() - 1),
      multiplier_(system_random() | 1),
      multiplier2_(system_random() | 1) {}

bool BpeTable::insert(uint64_t key, uint64_t value) {
  CHECK(key != kNone && value != kNone);
  CHECK(2 * size_ + 1 < slots_.size());
  size_t i = slot_of(key);
  while (slots_[i].key != kNone) {
    if (slots_[i].key == key) return false;
    i = (i + 1) & mask_;
  }
  slots_[i] = {key, value};
  ++size_;
  return true;
}

}  // namespace cascade
