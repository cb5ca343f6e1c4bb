// Peaks measured between the runs of something else: a shared machine's bandwidth and clock change
// within seconds, and a share of a peak measured a minute ago says little.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "bench/speed/peak.h"
#include "bench/speed/samples.h"
#include "kernels/thread_pool.h"
#include "model/packed_memory.h"

namespace cascade::speed {

// Holds kPeakReadBytes for each thread while it lives. One thread at a time.
class PeakProbe {
 public:
  // Precondition: the memory can be had (fits_memory).
  PeakProbe(ThreadPool& pool, Isa isa);

  // Forgets all samples.
  void restart();
  // Runs each loop once; some 100 ms.
  void sample();
  // One for each two samples that followed one another: their mean. Reading is that pattern whose
  // median over all samples is the highest.
  std::vector<Peak> between() const;

 private:
  ThreadPool& pool_;
  PeakLoops loops_;
  PackedMemory memory_;
  // A second, one for each sample.
  std::array<std::vector<double>, std::size(kReadPatterns)> read_bytes_;
  std::vector<double> f32_flop_, int8_op_;
};

// Runs, and what the machine could do around each of them.
struct PairedSamples {
  std::vector<double> seconds;  // in the order of the runs, not empty
  std::vector<Peak> peaks;      // as many

  Samples samples() const;  // the seconds
  // The median of share(seconds, peak) over the runs.
  double share(const std::function<double(double, const Peak&)>& share) const;
  Peak median_peak() const;  // each of its figures by itself
};

// Runs `body` `repeats` times. The probe is restarted.
PairedSamples measure_paired(PeakProbe& probe, int repeats, const std::function<void()>& body);

}  // namespace cascade::speed
