// What the daemon may be told to listen at, and whether somebody does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// What addresses of HTTP begin with that are no ADDRESS:PORT: "unix:PATH".
inline constexpr std::string_view kUnixAddress = "unix:";

// The path of a UNIX socket has at most this many bytes: 107 are the system's limit of its address,
// and the socket for events has a longer one.
inline constexpr size_t kSocketPathBytesMax = 100;

struct TcpAddress {
  std::string ip;  // as inet_pton(3) takes it; IPv6 may have a %zone
  uint16_t port = 0;
  bool local = false;  // of this machine only
};

// "127.0.0.1:8178", "[::1]:8178", "localhost:8178". Errors: kInvalidArgument, field "address".
Result<TcpAddress> parse_tcp_address(const std::string& address);

// Whether the address, TCP or unix:PATH, can be reached from this machine only. Errors: as above.
Result<bool> is_local_address(const std::string& address);

// A port alone is one of this machine: "8178" becomes "127.0.0.1:8178". Else as it is.
std::string with_host(const std::string& address);

// Checks a ZeroMQ endpoint: ipc:// with an absolute path of at most kSocketPathBytesMax bytes.
// Errors: kInvalidArgument, kUnsupported for other transports; field "endpoint".
Status check_endpoint(const std::string& endpoint);

// Whether somebody listens at the UNIX socket `path`. Connects to it; blocks for microseconds.
bool is_served(const std::string& path);

// Where the clients of a daemon with this run directory connect unless it was told otherwise, and
// where those of a further tenant do.
std::string default_endpoint(const std::string& run_dir);
std::string tenant_endpoint(const std::string& run_dir, const std::string& tenant);

}  // namespace cascade
