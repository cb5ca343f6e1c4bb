// Other libraries' matrix products, for comparison in the same run. Which libraries there are is
// decided when the project is configured (-DCASCADE_BENCH_LIBRARIES=ON).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/number_types.h"
#include "bench/speed/peak_probe.h"
#include "kernels/thread_pool.h"

namespace cascade::speed {

// y [rows, n] = x [rows, k] * w [n, k]', with `copies` matrices in turn.
struct LibraryProduct {
  int n;
  int k;
  int rows;
  int copies;
  int threads;
};

// Measures how long a body takes.
using MeasureBody = std::function<PairedSamples(const std::function<void()>& body)>;

struct Library {
  std::string name;
  double bytes_per_weight;
  // Prepares the product and has `measure` run it.
  std::function<PairedSamples(const LibraryProduct&, const MeasureBody& measure)> measure;
};

// The libraries that multiply matrices of `type`; empty if none was built in.
std::vector<Library> libraries_for(WeightType type);

}  // namespace cascade::speed
