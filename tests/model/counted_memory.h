// How much memory a thread allocates, to the byte.
#pragma once

#include <cstddef>

namespace cascade::testing {

// Counts what its thread allocates and frees by new and delete for as long as it lives. One at a
// time in a thread.
class CountedMemory {
 public:
  CountedMemory();
  ~CountedMemory();
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  // The most bytes that were allocated at one time, without those from before.
  size_t peak_bytes() const;
};

}  // namespace cascade::testing
