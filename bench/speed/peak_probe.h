// Peaks measured between the runs of something else: on a shared machine, bandwidth and clock
// change within seconds, and a share of a peak that was measured a minute ago says little.
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
  // Runs each loop once; takes about 100 ms.
  void sample();
  // One peak for each two consecutive samples: their mean. The read peak is that of the pattern
  // whose median over all samples is the highest.
  std::vector<Peak> between() const;

 private:
  ThreadPool& pool_;
  PeakLoops loops_;
  PackedMemory memory_;
  // Bytes per second, one for each sample.
  std::array<std::vector<double>, std::size(kReadPatterns)> read_bytes_;
  std::vector<double> f32_flop_, int8_op_;
};

// Runs, and the peaks of the machine around each of them.
struct PairedSamples {
  std::vector<double> seconds;  // in the order of the runs, not empty
  std::vector<Peak> peaks;      // one for each run

  Samples samples() const;  // the seconds, sorted
  // The median of share(seconds, peak) over the runs.
  double share(const std::function<double(double, const Peak&)>& share) const;
  Peak median_peak() const;  // the median of each figure on its own
};

// Runs `body` `repeats` times. Restarts the probe first.
PairedSamples measure_paired(PeakProbe& probe, int repeats, const std::function<void()>& body);

}  // namespace cascade::speed
