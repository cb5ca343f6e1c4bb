// Where the data that tests read is: ours is part of the project; that of others lies beside it,
// and a test that needs it is skipped, loudly, where it is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "tests/places.h"

namespace cascade::testing {

// The data of others: $CASCADE_SHARED, or ../shared beside the source tree.
inline std::filesystem::path shared_dir() {
  if (const char* dir = std::getenv("CASCADE_SHARED")) return dir;
  return source_dir().parent_path() / "shared";
}

// The demo model, which is part of the project.
inline std::filesystem::path demo_model_dir() {
  return source_dir() / "models" / "demo";
}

// Tiny models, what transformers computes for them, and GGUF files: its README.md says what is
// there.
inline std::filesystem::path fixtures_dir() {
  return source_dir() / "tests" / "model" / "fixtures";
}

}  // namespace cascade::testing

// Skips the running test, saying what is missing, unless shared/<relative> exists.
#define REQUIRE_SHARED(relative)                                                        \
  do {                                                                                  \
    const auto required = ::cascade::testing::shared_dir() / (relative);                \
    if (!std::filesystem::exists(required)) {                                           \
      GTEST_SKIP() << "SKIPPED: reference data absent: " << required                    \
                   << " (set CASCADE_SHARED to the folder that holds it)";              \
    }                                                                                   \
  } while (false)
