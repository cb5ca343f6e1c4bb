// The latest evictions: keys only, to tell whether an eviction came too early.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/hash.h"

namespace cascade {

// Remembers the last `capacity` evictions, each as a *ghost*. A key is the first 8 bytes of a chain
// key: if two collide, only a statistic becomes less exact. One thread.
class GhostList {
 public:
  struct Ghost {
    double weight = 0;         // recompute_weight() of the page
    int64_t last_used_us = 0;  // before its eviction
    size_t evictions = 0;      // of other pages since then; set by take()
  };

  explicit GhostList(size_t capacity) : capacity_(capacity) {}

  void add(const Digest& key, const Ghost& ghost);
  // Returns the ghost with this key and forgets it; nullopt if there is none.
  std::optional<Ghost> take(const Digest& key);

  size_t size() const { return ghosts_.size(); }
  // The number of ghosts that were last used at or after `since_us`. Walks all of them.
  size_t used_since(int64_t since_us) const;

 private:
  struct Entry {
    Ghost ghost;
    uint64_t sequence = 0;  // of the eviction
  };

  const size_t capacity_;
  uint64_t next_sequence_ = 0;
  std::unordered_map<uint64_t, Entry> ghosts_;
  std::deque<std::pair<uint64_t, uint64_t>> order_;  // (key, sequence); some are already taken
};

}  // namespace cascade
