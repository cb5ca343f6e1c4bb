// Short names for what several tests of the cache need.
#pragma once

#include <cstdint>

#include "base/hash.h"

namespace cascade::testing {

inline constexpr int64_t kSecond = 1'000'000;  // in microseconds

// The key of page number `number`.
inline Digest page(uint64_t number) {
  return Hasher().field("n", number).finish();
}

}  // namespace cascade::testing
