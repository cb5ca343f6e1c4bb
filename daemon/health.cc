// Passes the actors' signs of life on to the service manager.
#include "daemon/health.h"

#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/counted.h"

namespace cascade {
namespace {

// How often the status line may change.
constexpr int64_t kStatusUs = 1'000'000;
// Without a watchdog the rule is never asked; any number will do.
constexpr int64_t kNoWatchdogUs = 1;
// How many times we look at the actors within the watchdog's timeout: an actor that stands still is
// noticed within 1/16 of it.
constexpr int64_t kLooksInTimeout = 16;

}  // namespace

void HostHealth::on_tick(const SchedulerLoad& load) {
  if (load.running + load.waiting > 0) last_busy_us_ = system_clock().wall_us();
  const std::lock_guard lock(mutex_);
  load_ = load;
  ++ticks_;
}

SchedulerLoad HostHealth::load() const {
  const std::lock_guard lock(mutex_);
  return load_;
}

void HostHealth::add_signs(std::vector<ProgressSign>& signs) const {
  std::unique_lock lock(mutex_);
  const SchedulerLoad load = load_;
  const uint64_t ticks = ticks_;
  lock.unlock();
  const std::string of = label_.empty() ? "" : " of " + label_;
  signs.push_back({"scheduler" + of, ticks, true});
  const uint64_t layers = layers_->moves();
  signs.push_back(
      {"prefill" + of, prefill.moves() + layers, load.prefill_owes || prefill.working()});
  signs.push_back({"decode" + of, decode.moves() + layers, load.decode_owes || decode.working()});
  signs.push_back({"store" + of, store.moves(), load.store_owes || store.working()});
}

std::string status_line(const std::vector<std::shared_ptr<const HostHealth>>& hosts) {
  std::string line;
  for (const auto& host : hosts) {
    const SchedulerLoad load = host->load();
    if (!line.empty()) line += "; ";
    line += host->model() + ": " + counted(load.running, "request") + " running, " +
            std::to_string(load.waiting) + " waiting";
  }
  return line;
}

Health::Health(const Clock& clock, ServiceManager& manager)
    : manager_(manager), rule_(clock, std::max(kNoWatchdogUs, manager.watchdog_us())) {}

void Health::add(std::shared_ptr<const HostHealth> host) {
  const std::lock_guard lock(mutex_);
  hosts_.push_back(std::move(host));
}

void Health::remove(const HostHealth& host) {
  const std::lock_guard lock(mutex_);
  std::erase_if(hosts_, [&](const auto& known) { return known.get() == &host; });
}

std::vector<std::shared_ptr<const HostHealth>> Health::hosts() const {
  const std::lock_guard lock(mutex_);
  return hosts_;
}

int64_t Health::interval_us() const {
  const int64_t timeout_us = manager_.watchdog_us();
  return timeout_us == 0 ? kStatusUs
                         : std::clamp<int64_t>(timeout_us / kLooksInTimeout, 1, kStatusUs);
}

void Health::beat() {
  const auto hosts = this->hosts();
  manager_.status(status_line(hosts));
  if (manager_.watchdog_us() == 0) return;
  std::vector<ProgressSign> signs;
  for (const auto& host : hosts) host->add_signs(signs);
  const ProgressRule::Verdict verdict = rule_.look(signs);
  if (verdict.feed) manager_.feed();
  if (verdict.stuck != stuck_) {
    for (const std::string& actor : verdict.stuck) {
      spdlog::warn("{} has made no progress for {} ms: the watchdog is not fed", actor,
                   rule_.hungry_us() / 1000);
    }
  }
  for (const std::string& actor : verdict.stuck) spdlog::debug("not fed because of {}", actor);
  stuck_ = verdict.stuck;
}

}  // namespace cascade
