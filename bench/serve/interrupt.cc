// The handler only sets a flag. Every wait of these commands is short and looks at the flag.
#include "bench/serve/interrupt.h"

#include <atomic>

namespace cascade::serve {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
std::atomic<int> came = 0;
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler sets it");

void on_signal(int signal) {
  came.store(signal, std::memory_order_relaxed);
}

}  // namespace

Interrupts::Interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;  // without SA_RESTART: waits end
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &action, &before_[i]);
}

Interrupts::~Interrupts() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
  came.store(0, std::memory_order_relaxed);
}

Status check_interrupted() {
  const int signal = came.load(std::memory_order_relaxed);
  if (signal == 0) return {};
  return Error{ErrorCode::kCancelled, "", "ended by signal " + std::to_string(signal)};
}

}  // namespace cascade::serve
