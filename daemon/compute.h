// The cores of the machine, which the loaded models share: one pool of threads, one job at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "daemon/progress.h"
#include "kernels/thread_pool.h"

namespace cascade {

// Serves threads in the order in which they come, so that no model waits for more than one job of
// each other model. A std::mutex would let the thread that has just released it take it again. Any
// thread.
class FairTurn {
 public:
  // The turn is held as long as this object lives.
  class Hold {
   public:
    explicit Hold(FairTurn& turn) : turn_(turn) { turn_.take(); }
    ~Hold() { turn_.give_back(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    FairTurn& turn_;
  };

  // How many threads have come so far, including those that were served. For tests.
  uint64_t arrivals() const {
    const std::lock_guard lock(mutex_);
    return next_;
  }

 private:
  void take() {
    std::unique_lock lock(mutex_);
    const uint64_t mine = next_++;
    served_.wait(lock, [&] { return serving_ == mine; });
  }
  void give_back() {
    const std::lock_guard lock(mutex_);
    // With one model nobody waits, and nobody is woken.
    if (++serving_ != next_) served_.notify_all();
  }

  mutable std::mutex mutex_;
  std::condition_variable served_;
  uint64_t next_ = 0;     // the number for the next thread that comes
  uint64_t serving_ = 0;  // the number whose turn it is
};

// A prefill or decode job holds `turn` while it uses `pool`.
struct Compute {
  explicit Compute(int threads) : pool(threads) {}
  ThreadPool pool;
  FairTurn turn;
  // Moves with each layer that is computed, of whichever model.
  const std::shared_ptr<WorkMeter> layers = std::make_shared<WorkMeter>();
};

}  // namespace cascade
