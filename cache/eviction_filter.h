// Whether a page was evicted at some time, however long ago: one bit of truth in ten of memory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace cascade {

// Two Bloom filters (Bloom 1970), of which the older one is forgotten when the newer one is full:
// the last `evictions` keys are known for sure, up to twice as many may be, and of others about one
// in a hundred. Takes 2.5 to 5 bytes for each of `evictions`, as they come. One thread.
class EvictionFilter {
 public:
  explicit EvictionFilter(size_t evictions);

  void add(const Digest& key);
  bool may_have(const Digest& key) const;

 private:
  struct Generation {
    std::vector<uint64_t> bits;
    size_t keys = 0;
  };

  bool has(const Generation& generation, uint64_t key) const;

  const size_t keys_max_;                  // of a generation
  const size_t words_;                     // of its bits; a power of two
  std::array<Generation, 2> generations_;  // the newer one first
};

}  // namespace cascade
