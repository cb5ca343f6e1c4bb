// Every thread runs the same loop on its own data.
#include "bench/speed/peak.h"

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "model/packed_memory.h"

namespace cascade::speed {
namespace {

constexpr int64_t kSteps = 4'000'000;  // some 20 ms
constexpr int kRepeats = 7;
constexpr double kSecondsMin = 0.2;  // of each loop

template <class Body>
Samples on_all_threads(ThreadPool& pool, const Body& body) {
  // A task can be taken twice by a quick thread, so each is tied to the thread that runs it; the
  // barrier keeps every thread until all have started.
  return measure(kRepeats, kSecondsMin, [&] {
    std::atomic<int> started = 0;
    pool.run(pool.threads(), [&](int task, int) {
      started.fetch_add(1);
      while (started.load() < pool.threads()) {
      }
      body(task);
    });
  });
}

PeakSamples compute_peak(ThreadPool& pool, void (*loop)(int64_t), int per_step) {
  return {static_cast<double>(kSteps) * per_step * pool.threads(),
          on_all_threads(pool, [&](int) { loop(kSteps); })};
}

}  // namespace

PeakSamples measure_read(ThreadPool& pool, const PeakLoops& loops) {
  auto memory = PackedMemory::allocate(kPeakReadBytes * pool.threads());
  CHECK(memory.ok());
  std::memset(memory->data(), 1, memory->bytes());
  std::atomic<uint64_t> sink = 0;
  PeakSamples best = {static_cast<double>(memory->bytes()), {}};
  for (const ReadPattern pattern : kReadPatterns) {
    const Samples samples = on_all_threads(pool, [&](int task) {
      sink.fetch_add(loops.read(pattern, memory->data() + task * kPeakReadBytes, kPeakReadBytes));
    });
    const bool first = best.samples.seconds.empty();
    if (first || samples.median() < best.samples.median()) best.samples = samples;
  }
  return best;
}

PeakSamples measure_f32(ThreadPool& pool, const PeakLoops& loops) {
  return compute_peak(pool, loops.f32, loops.f32_flop_per_step);
}

PeakSamples measure_int8(ThreadPool& pool, const PeakLoops& loops) {
  return compute_peak(pool, loops.int8, loops.int8_op_per_step);
}

Peak measure_peak(ThreadPool& pool, Isa isa) {
  const PeakLoops loops = peak_loops(isa);
  return {measure_read(pool, loops).per_s(), measure_f32(pool, loops).per_s(),
          measure_int8(pool, loops).per_s()};
}

}  // namespace cascade::speed
