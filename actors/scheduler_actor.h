// The scheduler on its thread: SchedulerCore behind a ROUTER that the other actors connect to.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "actors/scheduler/scheduler_core.h"
#include "actors/zmq_port.h"

namespace cascade {

// Functions of the daemon that a running scheduler calls, on its thread, ten times a second. Either
// may be empty.
struct SchedulerHooks {
  std::function<void(const SchedulerLoad&)> on_tick;
  // Limits for SchedulerCore::set_limits(); nullopt: no change.
  std::function<std::optional<SchedulerOptions>()> take_limits;
};

// Runs on the calling thread until a Stop from kMainActor has been carried out: running requests
// end, and the other actors are told to stop. Throws std::runtime_error on a failure of its port.
void run_scheduler(ZmqContext& context, const SchedulerOptions& options, const Model& model,
                   const PageArena& arena, const Clock& clock, const SchedulerHooks& hooks = {});

}  // namespace cascade
