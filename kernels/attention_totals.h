// How a row of AttentionArgs::totals is laid out.
#pragma once

namespace cascade {

// The largest score, the sum, and the weighted values from kTotalValues on, which begins a cache
// line. A sum of 0 means that the row has seen no key yet: the largest score adds 1 to it.
inline constexpr int kTotalMax = 0;
inline constexpr int kTotalSum = 1;
inline constexpr int kTotalValues = 16;

}  // namespace cascade
