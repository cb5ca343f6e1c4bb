// ZeroMQ over TCP: puts --tcp and its related options into effect.
#pragma once

#include <memory>
#include <string>

#include "actors/tcp_gateway_actor.h"
#include "daemon/options.h"

namespace cascade {

// The door for run_tcp_gateway(). Precondition: options.tcp_address is not empty. Errors name the
// option: a file that cannot be read or is malformed, a key that others may read, a list without
// clients; an address that cannot be bound now.
Result<CurveDoor> open_tcp_door(const DaemonOptions& options,
                                std::shared_ptr<const ServiceStart> start);

// From now on the list in `file` is valid. Any thread. Errors, as open_tcp_door(): the list stays
// as it was.
Status reload_tcp_clients(const CurveDoor& door, const std::string& file);

}  // namespace cascade
