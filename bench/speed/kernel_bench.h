// What the commands that measure kernels without a model have in common.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/speed/bench_setup.h"

namespace cascade::speed {

constexpr double kSecondsMin = 0.3;  // of repeating one measurement

// In [-1, 1), the same for the same seed.
std::vector<float> random_floats(size_t count, uint64_t seed);

// Adds operations and bytes per second and their shares of the peaks to `row`, and it to `report`.
void add_kernel_row(Report& report, OrderedJson row, double ops, double bytes, double peak_ops,
                    const Peak& peak, const Samples& samples);

}  // namespace cascade::speed
