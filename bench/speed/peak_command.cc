// peak: the best that the machine can do on 1 to N threads.
#include "bench/speed/bench_setup.h"

namespace cascade::speed {

Status peak(const CommonOptions& options) {
  ASSIGN_OR_RETURN(const Setup setup, set_up(options));
  Report report(header("peak", setup));
  const PeakLoops loops = peak_loops(setup.kernels->isa);
  for (int threads = 1; threads <= setup.pool->threads(); ++threads) {
    ThreadPool pool(threads);
    const auto add = [&](const char* what, const char* unit, const PeakSamples& peak) {
      OrderedJson row = {{"threads", threads}, {"what", what}, {"unit", unit}};
      add_rate(row, "per_s", peak.amount, 1e9, peak.samples);
      report.add(std::move(row));
    };
    add("read", "GB", measure_read(pool, loops));
    add("f32", "GFLOP", measure_f32(pool, loops));
    add("int8", "GOP", measure_int8(pool, loops));
  }
  return print(report, options);
}

}  // namespace cascade::speed
