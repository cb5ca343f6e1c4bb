// What the service manager is told about a running service: a status line, and the signs of life
// for its watchdog.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "actors/scheduler/scheduler_load.h"
#include "base/clock.h"
#include "daemon/progress.h"
#include "daemon/service_manager.h"

namespace cascade {

// The signs of life of one model's actors. Any thread.
class HostHealth {
 public:
  // `label` follows the names of the model's actors; empty: nothing follows them. `layers` moves
  // with each layer that any model computes. An actor that waits for its turn, while another one
  // computes, makes progress with it. So a prefill or decode actor that is stuck in other work is
  // noticed only when nothing is computed.
  HostHealth(std::string model, std::string label, std::shared_ptr<const WorkMeter> layers)
      : model_(std::move(model)), label_(std::move(label)), layers_(std::move(layers)) {}

  // The work of the three actors.
  WorkMeter prefill, decode, store;
  // Called for each sign of life of the scheduler.
  void on_tick(const SchedulerLoad& load);

  const std::string& model() const { return model_; }
  SchedulerLoad load() const;
  // When the model was last seen to have a request, Unix time; 0: never.
  int64_t last_busy_us() const { return last_busy_us_; }
  void add_signs(std::vector<ProgressSign>& signs) const;

 private:
  const std::string model_;
  const std::string label_;
  const std::shared_ptr<const WorkMeter> layers_;
  mutable std::mutex mutex_;
  SchedulerLoad load_;
  uint64_t ticks_ = 0;  // of the scheduler
  std::atomic<int64_t> last_busy_us_{0};
};

class Health {
 public:
  // Both outlive this object.
  Health(const Clock& clock, ServiceManager& manager);

  // Call them when a model is served, and when it no longer is. The first model is the default
  // model. Any thread.
  void add(std::shared_ptr<const HostHealth> host);
  void remove(const HostHealth& host);

  // Call it every interval_us(). One thread. Precondition: there is a default model.
  void beat();
  int64_t interval_us() const;

 private:
  std::vector<std::shared_ptr<const HostHealth>> hosts() const;

  ServiceManager& manager_;
  ProgressRule rule_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const HostHealth>> hosts_;
  std::vector<std::string> stuck_;
};

// "demo: 1 request running, 0 waiting", followed by the same for the other models, if there are
// any.
std::string status_line(const std::vector<std::shared_ptr<const HostHealth>>& hosts);

}  // namespace cascade
