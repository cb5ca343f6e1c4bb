// How much memory a thread allocates, to the byte.
#pragma once

#include <cstddef>

namespace cascade::testing {

// Counts the bytes that its thread allocates and frees with new and delete during its lifetime. A
// thread may have one at a time.
class CountedMemory {
 public:
  CountedMemory();
  ~CountedMemory();
  CountedMemory(const CountedMemory&) = delete;
  CountedMemory& operator=(const CountedMemory&) = delete;

  // The most bytes that were allocated at one time, without those allocated before.
  size_t peak_bytes() const;
};

}  // namespace cascade::testing
