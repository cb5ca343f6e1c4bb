// The clock seam: everything that needs the time takes a Clock, so that tests can set the time by
// hand.
#pragma once

#include <cstdint>

namespace cascade {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never decreases; for durations and deadlines. Microseconds since an arbitrary point.
  virtual int64_t monotonic_us() const = 0;
  // Unix time in microseconds; may jump. For timestamps that people read, and TTLs on disk.
  virtual int64_t wall_us() const = 0;
};

// The operating system's clocks. Any thread.
const Clock& system_clock();

// A clock whose monotonic_us() is the processor time that the calling thread has used, so that a
// budget of time does not depend on what else the machine does. Any thread, but compare only
// readings of the same thread.
const Clock& thread_clock();

// A clock that moves only when told to. One thread.
class FakeClock : public Clock {
 public:
  int64_t monotonic_us() const override { return monotonic_us_; }
  int64_t wall_us() const override { return wall_us_; }
  void advance_us(int64_t delta_us) {
    monotonic_us_ += delta_us;
    wall_us_ += delta_us;
  }
  void set_wall_us(int64_t wall_us) { wall_us_ = wall_us; }

 private:
  int64_t monotonic_us_ = 1'000'000;
  int64_t wall_us_ = 1'767'322'984'000'000;  // 2026-01-02 03:03:04 UTC
};

}  // namespace cascade
