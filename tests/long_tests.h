// How much the tests do: every behaviour by default; all cases, sizes and rounds in long tests, for
// which `./check --long` sets CASCADE_LONG_TESTS=1.
#pragma once

#include <cstdlib>
#include <string_view>

namespace cascade::testing {

inline bool long_tests() {
  const char* asked = std::getenv("CASCADE_LONG_TESTS");
  return asked != nullptr && std::string_view(asked) == "1";
}

// Returns `long_value` in long tests, otherwise `short_value`.
template <class T>
T long_or(T long_value, T short_value) {
  return long_tests() ? long_value : short_value;
}

}  // namespace cascade::testing
