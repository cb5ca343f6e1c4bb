// The seed of random tests: printed, and taken back from the environment to repeat a failure.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "base/random.h"

namespace cascade::testing {

// $CASCADE_TEST_SEED, or a fresh seed. Prints which.
inline uint64_t test_seed() {
  const char* given = std::getenv("CASCADE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : system_random();
  std::printf("CASCADE_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace cascade::testing
