// Every thread runs the same loop on its own data.
#include "bench/speed/peak.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <utility>

#include "base/check.h"

namespace cascade::speed {
namespace {

constexpr int64_t kSteps = 4'000'000;  // about 20 ms
constexpr int kRepeats = 7;
constexpr double kSecondsMin = 0.2;  // for each loop

// A quick thread could take two tasks, so each task waits until all threads have one.
template <class Body>
void on_all_threads(ThreadPool& pool, const Body& body) {
  std::atomic<int> started = 0;
  pool.run(pool.threads(), [&](int task, int) {
    started.fetch_add(1);
    // Yields, since the others may need this core to start.
    while (started.load() < pool.threads()) std::this_thread::yield();
    body(task);
  });
}

void read_all(ThreadPool& pool, const PeakLoops& loops, ReadPattern pattern, const uint8_t* data) {
  std::atomic<uint64_t> sink = 0;
  on_all_threads(pool, [&](int task) {
    sink.fetch_add(loops.read(pattern, data + task * kPeakReadBytes, kPeakReadBytes));
  });
}

double compute_amount(const ThreadPool& pool, int per_step) {
  return static_cast<double>(kSteps) * per_step * pool.threads();
}

PeakSamples compute_peak(ThreadPool& pool, void (*loop)(int64_t), int per_step) {
  return {compute_amount(pool, per_step), measure(kRepeats, kSecondsMin, [&] {
            on_all_threads(pool, [&](int) { loop(kSteps); });
          })};
}

double compute_once(ThreadPool& pool, void (*loop)(int64_t), int per_step) {
  const double start = now_s();
  on_all_threads(pool, [&](int) { loop(kSteps); });
  return compute_amount(pool, per_step) / (now_s() - start);
}

}  // namespace

PackedMemory peak_memory(const ThreadPool& pool) {
  auto memory = PackedMemory::allocate(kPeakReadBytes * pool.threads());
  CHECK(memory.ok());
  std::memset(memory->data(), 1, memory->bytes());
  return std::move(*memory);
}

PeakSamples measure_read(ThreadPool& pool, const PeakLoops& loops) {
  const PackedMemory memory = peak_memory(pool);
  PeakSamples best = {static_cast<double>(memory.bytes()), {}};
  for (const ReadPattern pattern : kReadPatterns) {
    const Samples samples =
        measure(kRepeats, kSecondsMin, [&] { read_all(pool, loops, pattern, memory.data()); });
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

double read_once(ThreadPool& pool, const PeakLoops& loops, ReadPattern pattern,
                 const uint8_t* data) {
  const double start = now_s();
  read_all(pool, loops, pattern, data);
  return static_cast<double>(kPeakReadBytes) * pool.threads() / (now_s() - start);
}

double f32_once(ThreadPool& pool, const PeakLoops& loops) {
  return compute_once(pool, loops.f32, loops.f32_flop_per_step);
}

double int8_once(ThreadPool& pool, const PeakLoops& loops) {
  return compute_once(pool, loops.int8, loops.int8_op_per_step);
}

Peak measure_peak(ThreadPool& pool, Isa isa) {
  const PeakLoops loops = peak_loops(isa);
  return {measure_read(pool, loops).per_s(), measure_f32(pool, loops).per_s(),
          measure_int8(pool, loops).per_s()};
}

}  // namespace cascade::speed
