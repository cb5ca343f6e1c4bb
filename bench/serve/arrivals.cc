// Uses the inverse of the exponential distribution.
#include "bench/serve/arrivals.h"

#include <cmath>

#include "base/check.h"

namespace cascade::serve {

Arrivals::Arrivals(uint64_t seed, double per_s) : random_(seed), gap_us_(1e6 / per_s) {
  CHECK(per_s > 0);
}

int64_t Arrivals::next_us() {
  at_us_ -= gap_us_ * std::log1p(-random_.unit());
  return static_cast<int64_t>(at_us_);
}

}  // namespace cascade::serve
