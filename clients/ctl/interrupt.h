// Ctrl-C as a flag.
#pragma once

#include <signal.h>

#include <atomic>

namespace cascade::ctl {

// While it lives, SIGINT sets interrupted() instead of ending the process, and interrupts waits.
// Guards may nest.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_ {};
};

// Waits until `fd` can be read. Returns false if SIGINT came instead. With an InterruptGuard alive;
// SIGINT is blocked but during the wait, so one that comes just before it is not missed.
bool wait_readable(int fd);

// Whether Ctrl-C was pressed since the last clear_interrupt().
const std::atomic<bool>& interrupted();
void clear_interrupt();

}  // namespace cascade::ctl
