// An open-addressing hash table from 64-bit keys to 64-bit values, seeded against crafted keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cascade {

// For keys that come from model files: the hash is keyed with a random seed, so that a file cannot
// choose keys that all collide. Immutable lookups from any thread.
class BpeTable {
 public:
  // The one key that cannot be stored, and the value that find() gives for an absent key.
  static constexpr uint64_t kNone = UINT64_MAX;

  // An empty table with room for `count` keys.
  explicit BpeTable(size_t count = 0);

  // Stores the value unless the key is there already; returns whether it was stored.
  // Preconditions: key != kNone; value != kNone; fewer keys than `count` are stored.
  bool insert(uint64_t key, uint64_t value);

  // The value, or kNone.
  uint64_t find(uint64_t key) const {
    for (size_t i = slot_of(key);; i = (i + 1) & mask_) {
      if (slots_[i].key == key) return slots_[i].value;
      if (slots_[i].key == kNone) return kNone;
    }
  }

  size_t size() const { return size_; }

 private:
  struct Slot {
    uint64_t key = kNone;
    uint64_t value = kNone;
  };

  // Two rounds of multiplication by secret odd numbers: nobody who does not know these numbers can
  // compute which keys collide.
  size_t slot_of(uint64_t key) const {
    uint64_t hash = key * multiplier_;
    hash ^= hash >> 32;
    hash *= multiplier2_;
    return static_cast<size_t>(hash >> 32) & mask_;
  }

  std::vector<Slot> slots_;
  size_t mask_ = 0;
  size_t size_ = 0;
  uint64_t multiplier_ = 0;
  uint64_t multiplier2_ = 0;
};

}  // namespace cascade
