// Figures of many samples: percentiles and the slope of a series.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"

namespace cascade::serve {

// The value below which the share `share` of the samples lies, in [0, 1]; between two samples the
// straight line. Precondition: `values` is not empty.
double percentile(std::vector<double> values, double share);

// Median, 95th percentile and largest, as `name`_p50, `name`_p95 and `name`_max; null where there
// are no samples.
void add_percentiles(OrderedJson& row, const std::string& name, const std::vector<double>& values);

// a / b, or null where b is 0.
OrderedJson ratio(double a, double b);

// Of the straight line that fits best (least squares); 0 for fewer than two different `x`.
double slope(std::span<const double> x, std::span<const double> y);

}  // namespace cascade::serve
