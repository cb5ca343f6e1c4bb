// The receiver of packed weights while they are packed.
#pragma once

#include <cstdint>

namespace cascade {

// Receives the bytes of all matrices, one window after another.
class PackedSink {
 public:
  virtual ~PackedSink() = default;
  // Memory for bytes [begin, end), which the packers write in any order. `begin` is the `end` of
  // the window before, whose bytes have been written by now.
  virtual uint8_t* window(uint64_t begin, uint64_t end) = 0;
  // Passes on the windows that are complete, on any thread, while others write to the last window.
  virtual void drain() = 0;
};

}  // namespace cascade
