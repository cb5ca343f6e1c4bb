// What the tests of the sampler share.
#pragma once

#include <vector>

#include "base/random.h"
#include "model/sampler.h"

namespace cascade::testing {

using Logits = std::vector<float>;

inline const Kernels& best_kernels() {
  return **kernels_for(best_isa());
}

inline Logits random_logits(Random& random, size_t size, double spread = 4) {
  Logits logits(size);
  for (float& logit : logits) logit = static_cast<float>((random.unit() - 0.5) * 2 * spread);
  return logits;
}

}  // namespace cascade::testing
