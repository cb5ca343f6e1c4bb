// The doors of the daemon, and the names of their ports to the scheduler.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cascade {

// The places where clients connect: each tenant's socket, and the gateways that serve several
// tenants, with a port to the scheduler for each.
enum class Door { kIpc, kHttp, kTcp };

struct TenantDoor {
  Door door = Door::kIpc;
  std::string tenant;
};
// Returns the name of the door's port for the tenant: "gateway:local", "http:local", "tcp:local".
std::string door_name(Door door, const std::string& tenant);
// The tenant and door that have the name; nullopt if it is not the name of a door's port.
std::optional<TenantDoor> door_of(std::string_view name);

}  // namespace cascade
