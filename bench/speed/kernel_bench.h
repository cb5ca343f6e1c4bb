// The common parts of the commands that measure kernels without a model.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/speed/bench_setup.h"
#include "bench/speed/peak_probe.h"

namespace cascade::speed {

// Up to kReadBoundRows rows, reading is the bound. Weights that fit the caches would be read from
// there, so several copies, kCopiesBytes together, are used in turn. With more rows, computing
// takes several times as long as reading.
constexpr size_t kCopiesBytes = size_t{512} << 20;
constexpr int64_t kReadBoundRows = 64;
// How many copies of `bytes` bytes to use for `rows` rows.
size_t copies_for(int64_t rows, size_t bytes);

// Numbers in [-1, 1), the same for the same seed.
std::vector<float> random_floats(size_t count, uint64_t seed);

// Takes `repeats` samples of about 50 ms each, after an unmeasured run. The seconds are those of
// one run.
PairedSamples measure_kernel(PeakProbe& probe, int repeats, const std::function<void()>& body);

// The work of one run of a kernel.
struct KernelWork {
  double ops;
  double bytes;
  double Peak::*peak_ops;  // the peak that `ops` are compared with
};
// Adds operations and bytes per second, and their shares of the peaks, to `row`; then adds `row` to
// `report`.
void add_kernel_row(Report& report, OrderedJson row, const KernelWork& work,
                    const PairedSamples& samples);

}  // namespace cascade::speed
