// The door for clients on other machines: a ROUTER on tcp, encrypted by CURVE (ZeroMQ RFC 26). An
// allow-list of keys says which tenant a client belongs to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "actors/service_start.h"
#include "actors/zmq_port.h"
#include "base/live.h"
#include "wire/curve/allow_list.h"

namespace cascade {

struct CurveDoor {
  std::shared_ptr<const ServiceStart> start;
  std::string endpoint;    // "tcp://192.0.2.1:8179"
  std::string secret_key;  // of the server, Z85
  // The clients that may connect; may be replaced while the door serves. Then requests of a client
  // whose key was removed are refused, and new tenants are served.
  std::shared_ptr<Live<curve::AllowList>> clients;
  size_t connections_max = 0;  // 0: any number
};

// Runs on the calling thread until the scheduler sends Stop. It may begin before the scheduler
// exists: requests are refused until `door.start` says that the daemon serves. `on_listening` is
// called once clients can connect. Throws std::runtime_error if the endpoint cannot be bound, the
// context has a ZapHandler already, or the scheduler has ended.
void run_tcp_gateway(ZmqContext& context, const CurveDoor& door, uint64_t incarnation,
                     const std::function<void()>& on_listening);

}  // namespace cascade
