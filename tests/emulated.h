// Whether the tests run under an emulator (qemu-user), where what computes takes some 50 times as
// long: tests that compute much do less of it there.
#pragma once

namespace cascade::testing {

inline constexpr bool kEmulated = CASCADE_EMULATED;

}  // namespace cascade::testing
