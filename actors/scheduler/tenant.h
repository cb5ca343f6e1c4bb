// The tenant of everything that comes through the local socket.
#pragma once

namespace cascade {

// One tenant so far; its name is part of every chain key and look-up all the same.
inline constexpr char kLocalTenant[] = "local";

}  // namespace cascade
