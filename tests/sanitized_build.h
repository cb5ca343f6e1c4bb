// Whether the tests are built with a sanitizer, with which they take some 10 times as long: tests
// of many rounds do fewer of them there. A release does all.
#pragma once

namespace cascade::testing {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace cascade::testing
