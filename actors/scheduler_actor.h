// The scheduler on its thread: a ROUTER that the other actors connect to, around SchedulerCore.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "actors/scheduler/scheduler_core.h"
#include "actors/zmq_port.h"

namespace cascade {

// What the daemon asks a running scheduler and tells it, on the scheduler's thread, ten times a
// second. Either may be empty.
struct SchedulerHooks {
  std::function<void(const SchedulerLoad&)> on_tick;
  // Limits for SchedulerCore::set_limits(); nullopt: as they are.
  std::function<std::optional<SchedulerOptions>()> take_limits;
};

// Runs on the calling thread until a Stop from kMainActor has been carried out: running requests
// end, the other actors are told to stop. Throws std::runtime_error on a failure of its port.
void run_scheduler(ZmqContext& context, const SchedulerOptions& options, const Model& model,
                   const PageArena& arena, const Clock& clock, const SchedulerHooks& hooks = {});

}  // namespace cascade
