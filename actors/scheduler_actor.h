// The scheduler on its thread: a ROUTER that the other actors connect to, around SchedulerCore.
#pragma once

#include <cstdint>

#include "actors/scheduler/scheduler_core.h"
#include "actors/zmq_port.h"

namespace cascade {

// Runs on the calling thread until a Stop from kMainActor has been carried out: running requests
// end, the other actors are told to stop. Throws std::runtime_error on a failure of its port.
void run_scheduler(ZmqContext& context, const SchedulerOptions& options, const Model& model,
                   const PageArena& arena, const Clock& clock);

}  // namespace cascade
