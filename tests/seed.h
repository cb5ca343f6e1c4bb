// The seed of a random test. Every test that uses it prints it, and accepts it back to repeat a
// run.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "base/random.h"

namespace cascade::testing {

// $CASCADE_TEST_SEED, or a fresh one; printed so that a failure can be repeated.
inline uint64_t test_seed() {
  const char* given = std::getenv("CASCADE_TEST_SEED");
  const uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : system_random();
  std::cout << "CASCADE_TEST_SEED=" << seed << "\n";
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return seed;
}

}  // namespace cascade::testing
