// Makes random numbers and report rows.
#include "bench/speed/kernel_bench.h"

#include <algorithm>
#include <random>

namespace cascade::speed {

std::vector<float> random_floats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f;
  return values;
}

size_t copies_for(int64_t rows, size_t bytes) {
  return rows <= kReadBoundRows ? std::max<size_t>(1, kCopiesBytes / bytes) : 1;
}

PairedSamples measure_kernel(PeakProbe& probe, int repeats, const std::function<void()>& body) {
  constexpr double kSampleSeconds = 0.05;
  body();
  const double start = now_s();
  body();
  const double once = std::max(now_s() - start, 1e-9);
  const int runs = static_cast<int>(std::clamp(kSampleSeconds / once, 1.0, 1e6));
  PairedSamples samples = measure_paired(probe, repeats, [&] {
    for (int i = 0; i < runs; ++i) body();
  });
  for (double& seconds : samples.seconds) seconds /= runs;
  return samples;
}

void add_kernel_row(Report& report, OrderedJson row, const KernelWork& work,
                    const PairedSamples& samples) {
  const Samples all = samples.samples();
  add_rate(row, "gop_per_s", work.ops, 1e9, all);
  row["share_of_peak"] = samples.share(
      [&](double seconds, const Peak& peak) { return work.ops / seconds / (peak.*work.peak_ops); });
  row["gb_per_s"] = work.bytes / all.median() / 1e9;
  row["share_of_bandwidth"] = samples.share([&](double seconds, const Peak& peak) {
    return work.bytes / seconds / peak.read_bytes_per_s;
  });
  report.add(std::move(row));
}

}  // namespace cascade::speed
