// The clients of the scheduler.
#pragma once

#include <compare>
#include <string>

#include "actors/door.h"

namespace cascade {

// A connection of a tenant.
struct Client {
  std::string tenant;
  std::string name;  // the connection's name within its door
  Door door = Door::kIpc;
  auto operator<=>(const Client&) const = default;
};

}  // namespace cascade
