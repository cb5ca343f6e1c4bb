// Does what libzmq does when it binds.
#include "actors/listening_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/endpoint.h"

namespace cascade {
namespace {

constexpr std::string_view kIpc = "ipc://", kTcp = "tcp://";
// The number of connections of a burst that wait until a thread accepts them. Linux allows 4,096 by
// default (net.core.somaxconn).
constexpr int kBacklog = 4096;

Result<int> listen_at(const std::string& endpoint, const sockaddr* address, socklen_t size) {
  const int socket = ::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket < 0) return io_error(endpoint, errno);
  const int on = 1;
  if (address->sa_family != AF_UNIX) {
    ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  }
  if (::bind(socket, address, size) == 0 && ::listen(socket, kBacklog) == 0) return socket;
  const int error = errno;
  ::close(socket);
  return io_error(endpoint, error);
}

}  // namespace

Result<int> open_listening_socket(const std::string& endpoint) {
  if (endpoint.starts_with(kIpc)) {
    const std::string path = endpoint.substr(kIpc.size());
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) return io_error(endpoint, ENAMETOOLONG);
    std::memcpy(name.sun_path, path.data(), path.size());
    ::unlink(path.c_str());
    return listen_at(endpoint, reinterpret_cast<const sockaddr*>(&name), sizeof name);
  }
  if (!endpoint.starts_with(kTcp)) {
    return invalid_argument(endpoint, "must begin with ipc:// or tcp://");
  }
  ASSIGN_OR_RETURN(const TcpAddress tcp, parse_tcp_address(endpoint.substr(kTcp.size())));
  boost::system::error_code failed;  // for instance, the zone does not exist
  const auto ip = boost::asio::ip::make_address(tcp.ip, failed);
  if (failed) return invalid_argument(endpoint, failed.message());
  const boost::asio::ip::tcp::endpoint where(ip, tcp.port);
  return listen_at(endpoint, where.data(), static_cast<socklen_t>(where.size()));
}

}  // namespace cascade
