// Memory for what is read from files without the system's cache.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/packed_matrix.h"

namespace cascade {

// `bytes` bytes that begin at a multiple of 4,096, as such reads need it.
class ReadBuffer {
 public:
  explicit ReadBuffer(size_t bytes) : memory_(allocate_aligned(bytes + kAlignment)) {}

  uint8_t* data() const {
    const size_t over = reinterpret_cast<uintptr_t>(memory_.get()) % kAlignment;
    return memory_.get() + (kAlignment - over) % kAlignment;
  }

 private:
  static constexpr size_t kAlignment = 4096;

  AlignedBytes memory_;
};

}  // namespace cascade
