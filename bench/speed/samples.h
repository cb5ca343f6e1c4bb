// Repeated measurements: the median, and how far they lie apart.
#pragma once

#include <functional>
#include <vector>

namespace cascade::speed {

struct Samples {
  std::vector<double> seconds;  // ascending, not empty

  // Of an even number of samples the mean of the two in the middle.
  double median() const {
    const size_t upper = seconds.size() / 2, lower = (seconds.size() - 1) / 2;
    return (seconds[lower] + seconds[upper]) / 2;
  }
  double fastest() const { return seconds.front(); }
  double slowest() const { return seconds.back(); }
};

// Seconds on a clock that never goes back.
double now_s();

// Runs `body` once unmeasured, then at least `repeats` times, and on until `seconds_min` have
// passed.
Samples measure(int repeats, double seconds_min, const std::function<void()>& body);

}  // namespace cascade::speed
