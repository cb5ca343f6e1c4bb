// Random numbers and report rows.
#include "bench/speed/kernel_bench.h"

#include <random>

namespace cascade::speed {

std::vector<float> random_floats(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(random() >> 40) * 0x1p-23f - 1.0f;
  return values;
}

void add_kernel_row(Report& report, OrderedJson row, double ops, double bytes, double peak_ops,
                    const Peak& peak, const Samples& samples) {
  add_rate(row, "gop_per_s", ops, 1e9, samples);
  row["share_of_peak"] = ops / samples.median() / peak_ops;
  row["gb_per_s"] = bytes / samples.median() / 1e9;
  row["share_of_bandwidth"] = bytes / samples.median() / peak.read_bytes_per_s;
  report.add(std::move(row));
}

}  // namespace cascade::speed
