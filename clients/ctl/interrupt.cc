// The SIGINT handler.
#include "clients/ctl/interrupt.h"

namespace cascade::ctl {
namespace {

std::atomic<bool> interrupt_flag{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler stores to it");

void on_interrupt(int) {
  interrupt_flag.store(true, std::memory_order_relaxed);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a wait at the prompt ends
  (void)sigaction(SIGINT, &action, &before_);
}

InterruptGuard::~InterruptGuard() {
  (void)sigaction(SIGINT, &before_, nullptr);
}

const std::atomic<bool>& interrupted() {
  return interrupt_flag;
}

void clear_interrupt() {
  interrupt_flag.store(false, std::memory_order_relaxed);
}

}  // namespace cascade::ctl
