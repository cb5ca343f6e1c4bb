// The best that this machine can do, measured now.
#pragma once

#include <cstddef>

#include "bench/speed/peak_loops.h"
#include "bench/speed/samples.h"
#include "kernels/thread_pool.h"
#include "model/packed_memory.h"

namespace cascade::speed {

// The bytes that each thread reads: many times a core's part of the last-level cache (4 to 32 MiB),
// so that almost nothing of them is left there from the pass before.
inline constexpr size_t kPeakReadBytes = size_t{192} << 20;

// Medians; the figures are for all threads of the pool together.
struct Peak {
  double read_bytes_per_s = 0;
  double f32_flop_per_s = 0;
  double int8_op_per_s = 0;
};

// The samples behind a peak, in seconds for `amount` bytes or operations.
struct PeakSamples {
  double amount = 0;
  Samples samples;

  double per_s() const { return amount / samples.median(); }
};
// Measures with the fastest of kReadPatterns.
PeakSamples measure_read(ThreadPool& pool, const PeakLoops& loops);
PeakSamples measure_f32(ThreadPool& pool, const PeakLoops& loops);
PeakSamples measure_int8(ThreadPool& pool, const PeakLoops& loops);

// Memory for reading: kPeakReadBytes for each thread, already written to. Precondition: this much
// memory can be had.
PackedMemory peak_memory(const ThreadPool& pool);
// Runs one loop once on all threads of the pool; returns bytes per second. `data` is that of
// peak_memory().
double read_once(ThreadPool& pool, const PeakLoops& loops, ReadPattern pattern,
                 const uint8_t* data);
// The same, in operations per second.
double f32_once(ThreadPool& pool, const PeakLoops& loops);
double int8_once(ThreadPool& pool, const PeakLoops& loops);

// Measures all three; takes about two seconds.
Peak measure_peak(ThreadPool& pool, Isa isa);

}  // namespace cascade::speed
