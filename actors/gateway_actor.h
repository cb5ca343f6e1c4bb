// The clients' door: a ROUTER on an ipc endpoint passes checked messages to the scheduler, and its
// answers back to the clients. A PUB beside it publishes the tenant's events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/service_start.h"
#include "actors/zmq_port.h"

namespace cascade {

struct GatewayDoor {
  std::string tenant;  // the tenant of all clients that connect here
  std::shared_ptr<const ServiceStart> start;
  std::string endpoint;
  std::string events_endpoint;  // where the tenant's events are published
  size_t connections_max = 0;   // the most clients; 0: any number
  size_t subscribers_max = 0;   // the most subscribers; 0: any number
  int descriptor = -1;  // a socket that already listens there and outlives the gateway; -1: none
};

// Runs on the calling thread until the scheduler sends Stop. It may begin before the scheduler
// exists: requests are refused until `door.start` says that the daemon serves. `on_listening` is
// called once clients can connect. Throws std::runtime_error if an endpoint cannot be bound or the
// scheduler has ended.
void run_gateway(ZmqContext& context, const GatewayDoor& door, uint64_t incarnation,
                 const std::function<void()>& on_listening);

}  // namespace cascade
