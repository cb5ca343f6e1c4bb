// From the actors' signs to the service manager.
#include "daemon/health.h"

#include <spdlog/spdlog.h>

#include <algorithm>

namespace cascade {
namespace {

// How often the line of status may change.
constexpr int64_t kStatusUs = 1'000'000;
// Without a watchdog the rule is never asked; any number will do.
constexpr int64_t kNoWatchdogUs = 1;
// An actor is seen to stand still within this part of the time after which it is too late.
constexpr int64_t kLooksInTimeout = 16;

}  // namespace

Health::Health(const Clock& clock, ServiceManager& manager, std::string model)
    : manager_(manager),
      model_(std::move(model)),
      rule_(clock, std::max(kNoWatchdogUs, manager.watchdog_us())) {}

void Health::on_tick(const SchedulerLoad& load) {
  const std::lock_guard lock(mutex_);
  load_ = load;
  ++ticks_;
}

int64_t Health::interval_us() const {
  const int64_t timeout_us = manager_.watchdog_us();
  return timeout_us == 0 ? kStatusUs
                         : std::clamp<int64_t>(timeout_us / kLooksInTimeout, 1, kStatusUs);
}

void Health::beat() {
  std::unique_lock lock(mutex_);
  const SchedulerLoad load = load_;
  const uint64_t ticks = ticks_;
  lock.unlock();
  manager_.status(model_ + ": " + std::to_string(load.running) + " requests running, " +
                  std::to_string(load.waiting) + " waiting");
  if (manager_.watchdog_us() == 0) return;
  const ProgressRule::Verdict verdict = rule_.look(signs(load, ticks));
  if (verdict.feed) manager_.feed();
  if (verdict.stuck != stuck_) {
    for (const std::string& actor : verdict.stuck) {
      spdlog::warn("{} has not moved on for {} ms: the watchdog is not fed", actor,
                   rule_.hungry_us() / 1000);
    }
  }
  for (const std::string& actor : verdict.stuck) spdlog::debug("not fed because of {}", actor);
  stuck_ = verdict.stuck;
}

std::vector<ProgressSign> Health::signs(const SchedulerLoad& load, uint64_t ticks) const {
  return {{"scheduler", ticks, true},
          {"prefill", prefill.moves(), load.prefill_owes || prefill.working()},
          {"decode", decode.moves(), load.decode_owes || decode.working()},
          {"store", store.moves(), load.store_owes || store.working()}};
}

}  // namespace cascade
