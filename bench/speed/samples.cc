// Measures runs in a loop, with a steady clock.
#include "bench/speed/samples.h"

#include <algorithm>
#include <chrono>

namespace cascade::speed {

double median_of(std::vector<double> values) {
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double now_s() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(now).count();
}

Samples measure(int repeats, double seconds_min, const std::function<void()>& body) {
  body();
  Samples samples;
  const double begin = now_s();
  while (static_cast<int>(samples.seconds.size()) < repeats || now_s() - begin < seconds_min) {
    const double start = now_s();
    body();
    samples.seconds.push_back(now_s() - start);
  }
  std::ranges::sort(samples.seconds);
  return samples;
}

}  // namespace cascade::speed
