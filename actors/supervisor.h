// Runs each actor on a thread; an actor that throws is started again, within a budget.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"

namespace cascade {

// How many restarts are allowed in which time. One more ends the process, and the service manager
// decides what to do.
struct RestartPolicy {
  int restarts_max = 5;
  int64_t window_us = 60'000'000;
};

// Counts restarts within the window. Pure: the caller gives the time.
class RestartBudget {
 public:
  explicit RestartBudget(const RestartPolicy& policy) : policy_(policy) {}
  // True if another restart at `now_us` is within the policy; counts it.
  bool spend(int64_t now_us);
  // How long to wait before the restart just spent: 10 ms, doubled with each one in the window.
  int64_t backoff_us() const;

 private:
  RestartPolicy policy_;
  std::deque<int64_t> restarts_us_;
};

// Runs actors and watches them. One thread, except for the parts that the actors' threads call.
class Supervisor {
 public:
  // `on_escalation(name, reason)` is called on the actor's thread when its budget is spent, or by
  // start() when the system has no thread for the actor.
  Supervisor(
      const Clock& clock, const RestartPolicy& policy,
      std::function<void(const std::string& actor, const std::string& reason)> on_escalation);
  // Precondition: join() was called.
  ~Supervisor();

  // Starts a thread that calls run(incarnation), incarnation = 1, 2, ..., until it returns
  // normally. An exception is logged, and run() is called again with fresh state.
  void start(const std::string& name, std::function<void(uint64_t incarnation)> run);

  // From now on, an actor that throws is not started again.
  void stop_restarting() { restarting_ = false; }
  // Waits until every actor has returned.
  void join();

 private:
  void supervise(const std::string& name, const std::function<void(uint64_t)>& run);

  const Clock& clock_;
  const RestartPolicy policy_;
  const std::function<void(const std::string&, const std::string&)> on_escalation_;
  std::atomic<bool> restarting_{true};
  std::vector<std::thread> threads_;
};

}  // namespace cascade
