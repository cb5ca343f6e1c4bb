// Repeated measurements: their median, and how far they lie apart.
#pragma once

#include <functional>
#include <vector>

namespace cascade::speed {

// The median; for an even number of values, the mean of the two in the middle. Precondition: not
// empty.
double median_of(std::vector<double> values);

struct Samples {
  std::vector<double> seconds;  // ascending, not empty

  double median() const { return median_of(seconds); }
  double fastest() const { return seconds.front(); }
  double slowest() const { return seconds.back(); }
};

// Seconds on a clock that never goes back.
double now_s();

// Runs `body` once unmeasured, then at least `repeats` times, and longer if `seconds_min` have not
// passed.
Samples measure(int repeats, double seconds_min, const std::function<void()>& body);

}  // namespace cascade::speed
