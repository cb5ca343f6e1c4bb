// The addresses at which the daemon can be told to listen, and a check whether somebody listens
// there.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade {

// The prefix of HTTP addresses that are not ADDRESS:PORT: "unix:PATH".
inline constexpr std::string_view kUnixAddress = "unix:";

// The largest number of bytes in the path of a UNIX socket. The system's limit is 107, and the path
// of the socket for events is longer than this one.
inline constexpr size_t kSocketPathBytesMax = 100;

struct TcpAddress {
  std::string ip;  // as inet_pton(3) takes it; IPv6 may have a %zone
  uint16_t port = 0;
  bool local = false;  // only this machine can reach it
};

// "127.0.0.1:8178", "[::1]:8178", "localhost:8178". Errors: kInvalidArgument, field "address".
Result<TcpAddress> parse_tcp_address(const std::string& address);

// Whether the address, TCP or unix:PATH, can be reached from this machine only. Errors: as above.
Result<bool> is_local_address(const std::string& address);

// A port alone means this machine: "8178" becomes "127.0.0.1:8178". Any other address stays as it
// is.
std::string with_host(const std::string& address);

// Checks a ZeroMQ endpoint: ipc:// with an absolute path of at most kSocketPathBytesMax bytes.
// Errors: kInvalidArgument, kUnsupported for other transports; field "endpoint".
Status check_endpoint(const std::string& endpoint);

// Whether somebody listens at the UNIX socket `path`. Connects to it; blocks for microseconds.
bool is_served(const std::string& path);

// The default endpoints of a daemon with this run directory: the one where its own clients connect,
// and the one where the clients of a further tenant connect.
std::string default_endpoint(const std::string& run_dir);
std::string tenant_endpoint(const std::string& run_dir, const std::string& tenant);

}  // namespace cascade
