// Bytes that need not be text: a byte string (bin) on the wire.
#pragma once

#include <string>

namespace cascade::wire {

struct ByteString {
  std::string bytes;
};

}  // namespace cascade::wire
