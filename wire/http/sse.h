// Frames of server-sent events.
#pragma once

#include <string>
#include <string_view>

namespace cascade::http {

// `data` must be one line.
inline std::string sse_data(std::string_view data) {
  return "data: " + std::string(data) + "\n\n";
}

inline std::string sse_event(std::string_view name, std::string_view data) {
  return "event: " + std::string(name) + "\n" + sse_data(data);
}

// A sign of life that clients ignore.
inline constexpr char kSsePing[] = ": ping\n\n";

}  // namespace cascade::http
