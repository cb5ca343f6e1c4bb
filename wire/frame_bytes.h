// The size of a message.
#pragma once

#include <cstddef>

#include "wire/frames.h"

namespace cascade::wire {

// The bytes of all its frames together.
inline size_t bytes_of(const Frames& frames) {
  size_t bytes = 0;
  for (const Frame& frame : frames) bytes += frame.size();
  return bytes;
}

}  // namespace cascade::wire
