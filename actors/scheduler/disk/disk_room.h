// How much of the K and V of long prompts the disk can take.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/scheduler_options.h"
#include "cache/kv_view.h"

namespace cascade {

// One thread.
class DiskRoom {
 public:
  // The references outlive this.
  DiskRoom(const DiskLimits& limits, const StoredPages& stored)
      : limits_(limits), stored_(stored) {}

  // What the pages on disk take.
  int64_t used_bytes() const {
    return limits_.page_bytes * static_cast<int64_t>(stored_.disk().size());
  }
  // What pages may take at most, those that are there included: older ones make room for new ones.
  int64_t bytes() const {
    if (!limits_.free_bytes) return limits_.bytes_max;
    return std::min(limits_.bytes_max, used_bytes() + std::max<int64_t>(0, limits_.free_bytes()));
  }
  // The tokens that there is room for.
  int64_t tokens() const {
    if (limits_.page_bytes == 0) return std::numeric_limits<int64_t>::max();
    return bytes() / limits_.page_bytes * kPageTokens;
  }

 private:
  const DiskLimits& limits_;
  const StoredPages& stored_;
};

}  // namespace cascade
