// Where the tests' data is. Our data is part of the project; the data of others lies beside it, and
// a test that needs it is skipped, with a message, where it is absent.
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

// Tiny models, the results of transformers for them, and GGUF files; its README.md describes the
// contents.
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
