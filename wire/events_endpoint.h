// The endpoint at which a daemon publishes the events for the clients of another endpoint.
#pragma once

#include <string>
#include <string_view>

namespace cascade::wire {

inline constexpr std::string_view kEventsSuffix = ".events";

// Returns "ipc:///run/cascaded/cascaded.sock.events" for "ipc:///run/cascaded/cascaded.sock".
inline std::string events_endpoint(const std::string& endpoint) {
  return endpoint + std::string(kEventsSuffix);
}

}  // namespace cascade::wire
