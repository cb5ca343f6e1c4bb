// Ctrl-C as a flag.
#pragma once

#include <signal.h>

#include <atomic>

namespace cascade::ctl {

// While this object lives, SIGINT sets interrupted() instead of ending the process, and interrupts
// waits. Guards may nest.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

 private:
  struct sigaction before_ {};
};

// Whether Ctrl-C was pressed since the last clear_interrupt().
const std::atomic<bool>& interrupted();
void clear_interrupt();

}  // namespace cascade::ctl
