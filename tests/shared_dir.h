// Where the reference data beside the project is, and the loud skip when it is absent.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace cascade::testing {

// $CASCADE_SHARED, or ../shared beside the source tree.
inline std::filesystem::path shared_dir() {
  if (const char* dir = std::getenv("CASCADE_SHARED")) return dir;
  return std::filesystem::path(CASCADE_SOURCE_DIR).parent_path() / "shared";
}

// The demo model, which is part of the project.
inline std::filesystem::path demo_model_dir() {
  return std::filesystem::path(CASCADE_SOURCE_DIR) / "models" / "demo";
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
