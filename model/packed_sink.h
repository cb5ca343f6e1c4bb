// What takes packed weights while they are packed.
#pragma once

#include <cstdint>

namespace cascade {

// Where the bytes of all matrices go, one window of them after the other.
class PackedSink {
 public:
  virtual ~PackedSink() = default;
  // Memory for bytes [begin, end), which the packers write in any order; `begin` is the `end`
  // before. What was asked for before is written.
  virtual uint8_t* window(uint64_t begin, uint64_t end) = 0;
  // Takes what is written further, on any thread, while others write to the last window.
  virtual void drain() = 0;
};

}  // namespace cascade
