// Figures of many samples: percentiles and the slope of a series.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace cascade::serve {

// The value below which the share `share`, in [0, 1], of the samples lies; interpolated linearly
// between two samples. Precondition: `values` is not empty.
double percentile(std::vector<double> values, double share);

// Adds median, 95th percentile and largest value as `name`_p50, `name`_p95 and `name`_max; null if
// there are no samples.
void add_percentiles(OrderedJson& row, const std::string& name, const std::vector<double>& values);

// a / b, or null if b is 0.
OrderedJson ratio(double a, double b);

// The slope of the straight line that fits best (least squares); 0 for fewer than two different
// `x`.
double slope(std::span<const double> x, std::span<const double> y);

}  // namespace cascade::serve
