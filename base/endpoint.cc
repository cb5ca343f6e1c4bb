// Texts of endpoints, and a probe of sockets.
#include "base/endpoint.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/run_places.h"

namespace cascade {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr size_t kUnixPathBytesMax = 107;  // sun_path of sockaddr_un without the final NUL

Error bad_address(const std::string& address) {
  return invalid_argument(
      "address",
      "must be ADDRESS:PORT such as 127.0.0.1:8178, or unix:PATH, got \"" + address + '"');
}

// Whether only this machine can reach the address; nullopt if `ip` is not an address. The IPv6 zone
// after '%' is not checked here; the code that opens a socket does that.
std::optional<bool> is_loopback(const std::string& ip) {
  in_addr four{};
  if (::inet_pton(AF_INET, ip.c_str(), &four) == 1) return ntohl(four.s_addr) >> 24 == 127;
  in6_addr six{};
  if (::inet_pton(AF_INET6, ip.substr(0, ip.find('%')).c_str(), &six) != 1) return std::nullopt;
  return IN6_IS_ADDR_LOOPBACK(&six);
}

}  // namespace

Result<TcpAddress> parse_tcp_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return bad_address(address);
  std::string host = address.substr(0, colon);
  const std::string_view digits = std::string_view(address).substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc() || digits.empty() || end != digits.data() + digits.size()) {
    return bad_address(address);
  }
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (host.find('\0') != host.npos) return bad_address(address);
  const std::optional<bool> local = is_loopback(host);
  if (!local) return bad_address(address);
  return TcpAddress{host, port, *local};
}

Result<bool> is_local_address(const std::string& address) {
  if (address.starts_with(kUnixAddress)) {
    const size_t path_bytes = address.size() - kUnixAddress.size();
    if (path_bytes >= 1 && path_bytes <= kUnixPathBytesMax) return true;
    return invalid_argument("address", "must be unix: and a path of 1 to " +
                                           std::to_string(kUnixPathBytesMax) + " bytes, got " +
                                           std::to_string(path_bytes));
  }
  ASSIGN_OR_RETURN(const TcpAddress tcp, parse_tcp_address(address));
  return tcp.local;
}

std::string with_host(const std::string& address) {
  const bool is_port =
      !address.empty() && address.find_first_not_of("0123456789") == std::string::npos;
  return is_port ? "127.0.0.1:" + address : address;
}

Status check_endpoint(const std::string& endpoint) {
  if (!endpoint.starts_with(kIpc)) {
    return unsupported("endpoint", "only ipc:// endpoints are served, got \"" + endpoint + "\"");
  }
  const std::string path = endpoint.substr(kIpc.size());
  if (!path.starts_with('/')) {
    return invalid_argument("endpoint",
                            "must be ipc:// and an absolute path, got \"" + endpoint + "\"");
  }
  if (path.size() > kSocketPathBytesMax) {
    return invalid_argument("endpoint", "the socket's path has " + std::to_string(path.size()) +
                                            " bytes; the limit is " +
                                            std::to_string(kSocketPathBytesMax));
  }
  return {};
}

bool is_served(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const int connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const bool is_full = connected != 0 && errno == EAGAIN;
  ::close(probe);
  return connected == 0 || is_full;
}

std::string default_endpoint(const std::string& run_dir) {
  return std::string(kIpc) + run_dir + "/" + kSocketName;
}

std::string tenant_endpoint(const std::string& run_dir, const std::string& tenant) {
  return std::string(kIpc) + run_dir + "/tenant-" + tenant + ".sock";
}

}  // namespace cascade
