// Whether the tests run under an emulator (qemu-user), where computing takes about 50 times as
// long. Tests that compute much do less of it there.
#pragma once

namespace cascade::testing {

inline constexpr bool kEmulated = CASCADE_EMULATED;

}  // namespace cascade::testing
