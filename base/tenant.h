// Tenants: each owns chunks and finds pages. A client's tenant is the socket that it connects to.
#pragma once

namespace cascade {

// The tenant of the daemon's own socket. It is also the administrator: it sees totals and publishes
// chunks.
inline constexpr char kLocalTenant[] = "local";

}  // namespace cascade
