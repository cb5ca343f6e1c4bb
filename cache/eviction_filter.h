// Tells whether a page was ever evicted, even long ago, with ten to twenty bits of memory for each
// eviction.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/hash.h"

namespace cascade {

// Two Bloom filters (Bloom 1970); the older one is forgotten when the newer one is full. The last
// `evictions` keys are always known, up to twice that number may be, and about one in a hundred
// other keys is taken for a known one. Takes 2.5 to 5 bytes for each of `evictions`, allocated as
// evictions come. One thread.
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

  const size_t keys_max_;                  // that one generation takes
  const size_t words_;                     // 64-bit words in one generation; a power of two
  std::array<Generation, 2> generations_;  // the newer one first
};

}  // namespace cascade
