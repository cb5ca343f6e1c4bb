// The shape of an actor that answers the scheduler's messages one by one.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "actors/zmq_port.h"
#include "wire/messages.h"

namespace cascade {

// Where the scheduler's ROUTER listens inside the process.
inline constexpr char kSchedulerEndpoint[] = "inproc://scheduler";

// Names by which the scheduler's ROUTER knows the actors.
inline constexpr char kPrefillActor[] = "prefill";
inline constexpr char kDecodeActor[] = "decode";
inline constexpr char kStoreActor[] = "store";
inline constexpr char kGatewayActor[] = "gateway";
inline constexpr char kMainActor[] = "main";  // the daemon's main thread, which asks it to stop

// Runs the actor `name` on the calling thread: greets the scheduler, then gives each message to
// `handle` and sends back what it returns. Returns on Stop. Throws what `handle` throws, and
// std::runtime_error if the scheduler is gone (it was restarted: the supervisor starts us again).
void run_worker(ZmqContext& context, const std::string& name, uint64_t incarnation,
                const std::function<std::optional<wire::Message>(const wire::Message&)>& handle);

}  // namespace cascade
