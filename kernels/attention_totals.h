// The layout of a row of AttentionArgs::totals, and how a sink is added to it at the end.
#pragma once

#include "kernels/exp.h"

namespace cascade {

// The largest score, the sum, and the weighted values from kTotalValues on, which begins a cache
// line. A sum of 0 means that the row has seen no key yet: the largest score adds 1 to it.
inline constexpr int kTotalMax = 0;
inline constexpr int kTotalSum = 1;
inline constexpr int kTotalValues = 16;

// Merges a sink's logit into a softmax whose largest score is `max`: its values must be multiplied
// by `factor`, and their sum becomes `sum`. Internal linkage on purpose (kernels/exp.h).
[[maybe_unused]] static void merge_sink(float logit, float max, float& factor, float& sum) {
  const float largest = logit > max ? logit : max;
  factor = exp_reference(max - largest);
  sum = __builtin_fmaf(sum, factor, exp_reference(logit - largest));
}

}  // namespace cascade
