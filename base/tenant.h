// Tenants: who owns chunks and finds pages. A tenant is the socket that a client connects to.
#pragma once

namespace cascade {

// The tenant of the daemon's own socket, and its administrator: sees totals, publishes chunks.
inline constexpr char kLocalTenant[] = "local";

}  // namespace cascade
