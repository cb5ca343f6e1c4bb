// Peaks measured beside runs: how they are paired, and which of the figures are reported.
#include "bench/speed/peak_probe.h"

#include <gtest/gtest.h>

namespace cascade::speed {
namespace {

TEST(PairedSamples, share_is_the_median_over_runs_each_beside_its_own_peak) {
  // During the second run the machine is half as fast, so the run takes twice as long.
  const PairedSamples samples = {{1, 2, 1}, {{100, 10, 40}, {50, 10, 30}, {100, 40, 20}}};
  const double share = samples.share(
      [](double seconds, const Peak& peak) { return 80 / seconds / peak.read_bytes_per_s; });
  EXPECT_DOUBLE_EQ(share, 0.8);
  EXPECT_EQ(samples.samples().seconds, (std::vector<double>{1, 1, 2}));
  const Peak peak = samples.median_peak();
  EXPECT_EQ(peak.read_bytes_per_s, 100);
  EXPECT_EQ(peak.f32_flop_per_s, 10);
  EXPECT_EQ(peak.int8_op_per_s, 30);
}

TEST(PairedSamples, every_run_has_a_peak) {
  ThreadPool pool(1);
  int runs = 0;
  PeakProbe probe(pool, best_isa());
  measure_paired(probe, 1, [] {});
  const PairedSamples samples = measure_paired(probe, 2, [&] { ++runs; });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(samples.seconds.size(), 2u);
  ASSERT_EQ(samples.peaks.size(), 2u);
  for (const Peak& peak : samples.peaks) {
    EXPECT_GT(peak.read_bytes_per_s, 0);
    EXPECT_GT(peak.f32_flop_per_s, 0);
    EXPECT_GT(peak.int8_op_per_s, 0);
  }
}

}  // namespace
}  // namespace cascade::speed
