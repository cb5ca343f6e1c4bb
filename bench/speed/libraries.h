// Other libraries' matrix products, for comparison in the same run. Which of them there are is
// decided when the project is configured (-DCASCADE_BENCH_LIBRARIES=ON).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/number_types.h"
#include "bench/speed/samples.h"
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

struct Library {
  std::string name;
  double bytes_per_weight;
  std::function<Samples(const LibraryProduct&, int repeats, double seconds_min)> measure;
};

// Those that multiply matrices of `type`; empty if none was built in.
std::vector<Library> libraries_for(WeightType type);

}  // namespace cascade::speed
