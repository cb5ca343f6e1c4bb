// Lets actors crash, but not for ever.
#include "actors/supervisor.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <exception>

#include "base/check.h"

namespace cascade {
namespace {

constexpr int64_t kFirstBackoffUs = 10'000;
constexpr int64_t kBackoffUsMax = 1'000'000;
constexpr size_t kThreadNameMax = 15;  // Linux refuses longer names

}  // namespace

bool RestartBudget::spend(int64_t now_us) {
  while (!restarts_us_.empty() && restarts_us_.front() <= now_us - policy_.window_us) {
    restarts_us_.pop_front();
  }
  if (static_cast<int>(restarts_us_.size()) >= policy_.restarts_max) return false;
  restarts_us_.push_back(now_us);
  return true;
}

int64_t RestartBudget::backoff_us() const {
  const size_t doublings = std::min<size_t>(restarts_us_.empty() ? 0 : restarts_us_.size() - 1, 20);
  return std::min(kBackoffUsMax, kFirstBackoffUs << doublings);
}

Supervisor::Supervisor(const Clock& clock, const RestartPolicy& policy,
                       std::function<void(const std::string&, const std::string&)> on_escalation)
    : clock_(clock), policy_(policy), on_escalation_(std::move(on_escalation)) {}

Supervisor::~Supervisor() {
  CHECK(threads_.empty());
}

void Supervisor::start(const std::string& name, std::function<void(uint64_t)> run) {
  try {
    threads_.emplace_back([this, name, run = std::move(run)] { supervise(name, run); });
  } catch (const std::exception& error) {
    constexpr std::string_view kLimits = " (see ulimit -u, ulimit -v, TasksMax= of the unit)";
    const std::string why = error.what() + std::string(kLimits);
    spdlog::error("actor {} was not started: {}", name, why);
    on_escalation_(name, why);
  }
}

void Supervisor::supervise(const std::string& name, const std::function<void(uint64_t)>& run) {
  // The name that top and debuggers show.
  pthread_setname_np(pthread_self(), name.substr(0, kThreadNameMax).c_str());
  RestartBudget budget(policy_);
  for (uint64_t incarnation = 1;; ++incarnation) {
    std::string reason;
    try {
      run(incarnation);
      return;
    } catch (const std::exception& error) {
      reason = error.what();
    } catch (...) {
      reason = "an exception of unknown type";
    }
    if (!restarting_) return;
    spdlog::error("actor {} failed: {}", name, reason);
    if (!budget.spend(clock_.monotonic_us())) {
      on_escalation_(name, reason);
      return;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(budget.backoff_us()));
    if (!restarting_) return;  // the actor that would tell it to stop may have ended by now
    spdlog::warn("actor {} starts again", name);
  }
}

void Supervisor::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace cascade
