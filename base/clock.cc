// Implements the Clock seam with clock_gettime(2).
#include "base/clock.h"

#include <time.h>

#include <chrono>

#include "base/check.h"

namespace cascade {
namespace {

class SystemClock : public Clock {
 public:
  int64_t monotonic_us() const override { return since_epoch_us<std::chrono::steady_clock>(); }
  int64_t wall_us() const override { return since_epoch_us<std::chrono::system_clock>(); }

 private:
  template <class SomeClock>
  static int64_t since_epoch_us() {
    const auto elapsed = SomeClock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(elapsed).count();
  }
};

class ThreadClock : public Clock {
 public:
  int64_t monotonic_us() const override {
    timespec used{};
    CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
    return int64_t{used.tv_sec} * 1'000'000 + used.tv_nsec / 1'000;
  }
  int64_t wall_us() const override { return system_clock().wall_us(); }
};

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

const Clock& thread_clock() {
  static const ThreadClock clock;
  return clock;
}

}  // namespace cascade
