// The clients' door: a ROUTER on an ipc endpoint, checked messages to the scheduler and back; and a
// PUB beside it, on which it publishes the tenant's events.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "actors/zmq_port.h"

namespace cascade {

// Runs on the calling thread until the scheduler sends Stop. `on_listening` is called once clients
// can connect. Throws std::runtime_error if the endpoint cannot be bound or the scheduler is gone.
// Clients of `endpoint` are of `tenant`; its events are published on `events_endpoint`.
void run_gateway(ZmqContext& context, const std::string& tenant, const std::string& endpoint,
                 const std::string& events_endpoint, uint64_t incarnation,
                 const std::function<void()>& on_listening);

}  // namespace cascade
