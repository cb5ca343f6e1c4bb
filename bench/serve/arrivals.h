// The arrival times of requests in an open loop: a Poisson process, the same for the same seed.
#pragma once

#include <cstdint>

#include "base/random.h"

namespace cascade::serve {

// The gaps are independent and exponentially distributed, like those of many users who do not know
// of each other.
class Arrivals {
 public:
  // Precondition: per_s > 0.
  Arrivals(uint64_t seed, double per_s);

  // Microseconds from the beginning to the next arrival; never goes back.
  int64_t next_us();

 private:
  Random random_;
  double gap_us_;
  double at_us_ = 0;
};

}  // namespace cascade::serve
