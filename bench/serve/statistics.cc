// All functions work on copies: there are at most some ten thousand samples.
#include "bench/serve/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace cascade::serve {

double percentile(std::vector<double> values, double share) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const double at = std::clamp(share, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(std::floor(at));
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

void add_percentiles(OrderedJson& row, const std::string& name, const std::vector<double>& values) {
  const auto value = [&](double share) {
    return values.empty() ? OrderedJson() : OrderedJson(percentile(values, share));
  };
  row[name + "_p50"] = value(0.5);
  row[name + "_p95"] = value(0.95);
  row[name + "_max"] = value(1);
}

OrderedJson ratio(double a, double b) {
  return b == 0 ? OrderedJson() : OrderedJson(a / b);
}

double slope(std::span<const double> x, std::span<const double> y) {
  CHECK(x.size() == y.size());
  const auto count = static_cast<double>(x.size());
  double x_sum = 0, y_sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x_sum += x[i];
    y_sum += y[i];
  }
  double above = 0, below = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double dx = x[i] - x_sum / count;
    above += dx * (y[i] - y_sum / count);
    below += dx * dx;
  }
  return below == 0 ? 0 : above / below;
}

}  // namespace cascade::serve
