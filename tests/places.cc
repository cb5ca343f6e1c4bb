// tests/CMakeLists.txt defines the two folders for this source alone.
#include "tests/places.h"

namespace cascade::testing {

std::filesystem::path source_dir() {
  return CASCADE_SOURCE_DIR;
}

std::filesystem::path program_dir() {
  return CASCADE_PROGRAM_DIR;
}

}  // namespace cascade::testing
