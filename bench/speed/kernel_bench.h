// What the commands that measure kernels without a model have in common.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/speed/bench_setup.h"
#include "bench/speed/peak_probe.h"

namespace cascade::speed {

// So few rows are bound by reading. What fits the caches would be read from there: several copies,
// in turn, do not. From more rows on, computing takes several times as long as reading.
constexpr size_t kCopiesBytes = size_t{512} << 20;
constexpr int64_t kReadBoundRows = 64;
// How many copies of `bytes` bytes to use for `rows` rows.
size_t copies_for(int64_t rows, size_t bytes);

// In [-1, 1), the same for the same seed.
std::vector<float> random_floats(size_t count, uint64_t seed);

// `repeats` samples of some 50 ms each, after an unmeasured run. Seconds are those of one run.
PairedSamples measure_kernel(PeakProbe& probe, int repeats, const std::function<void()>& body);

// What one run of a kernel does.
struct KernelWork {
  double ops;
  double bytes;
  double Peak::*peak_ops;  // the peak that `ops` count against
};
// Adds operations and bytes per second and their shares of the peaks to `row`, and it to `report`.
void add_kernel_row(Report& report, OrderedJson row, const KernelWork& work,
                    const PairedSamples& samples);

}  // namespace cascade::speed
