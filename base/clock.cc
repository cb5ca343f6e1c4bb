// clock_gettime(2) behind the Clock seam.
#include "base/clock.h"

#include <chrono>

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

}  // namespace

const Clock& system_clock() {
  static const SystemClock clock;
  return clock;
}

}  // namespace cascade
