// Where a daemon publishes the events of the clients of an endpoint.
#pragma once

#include <string>
#include <string_view>

namespace cascade::wire {

inline constexpr std::string_view kEventsSuffix = ".events";

// "ipc:///run/cascaded/cascaded.sock.events" of "ipc:///run/cascaded/cascaded.sock".
inline std::string events_endpoint(const std::string& endpoint) {
  return endpoint + std::string(kEventsSuffix);
}

}  // namespace cascade::wire
