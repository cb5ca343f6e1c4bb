// What the service manager hears of a running service: a line of status, and the watchdog's food.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "actors/scheduler/scheduler_load.h"
#include "base/clock.h"
#include "daemon/progress.h"
#include "daemon/service_manager.h"

namespace cascade {

class Health {
 public:
  // All outlive it. `model`: its name.
  Health(const Clock& clock, ServiceManager& manager, std::string model);

  // Of what the actors do. Any thread.
  WorkMeter prefill, decode, store;
  // A sign of life of the scheduler. Any thread.
  void on_tick(const SchedulerLoad& load);

  // Call it every interval_us(). One thread.
  void beat();
  int64_t interval_us() const;

 private:
  std::vector<ProgressSign> signs(const SchedulerLoad& load, uint64_t ticks) const;

  ServiceManager& manager_;
  const std::string model_;
  ProgressRule rule_;
  std::mutex mutex_;
  SchedulerLoad load_;
  uint64_t ticks_ = 0;  // of the scheduler
  std::vector<std::string> stuck_;
};

}  // namespace cascade
