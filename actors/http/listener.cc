// Opens the descriptor with plain system calls; the acceptor takes it over.
#include "actors/http/listener.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"
#include "base/endpoint.h"

namespace cascade {
namespace {

constexpr int kBacklog = 4096;  // usually the system's limit

using Tcp = boost::asio::ip::tcp;

Status bind_and_listen(int descriptor, const sockaddr* address, size_t size,
                       const std::string& name) {
  if (::bind(descriptor, address, static_cast<socklen_t>(size)) != 0) {
    return io_error("cannot listen on " + name, errno);
  }
  if (::listen(descriptor, kBacklog) != 0) return io_error("cannot listen on " + name, errno);
  return {};
}

// The address of a TCP socket, in the form to connect to.
Result<std::string> bound_address(int descriptor) {
  Tcp::endpoint bound;
  socklen_t size = static_cast<socklen_t>(bound.capacity());
  if (::getsockname(descriptor, bound.data(), &size) != 0) {
    return io_error("the socket's address", errno);
  }
  const std::string ip = bound.address().to_string();
  return (bound.address().is_v6() ? "[" + ip + "]" : ip) + ":" + std::to_string(bound.port());
}

}  // namespace

Result<HttpListener> HttpListener::open(const std::string& address) {
  HttpListener listener;
  ASSIGN_OR_RETURN(listener.local_, is_local_address(address));
  if (address.starts_with(kUnixAddress)) {
    const std::string path = address.substr(kUnixAddress.size());
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    CHECK(path.size() < sizeof name.sun_path);
    std::memcpy(name.sun_path, path.data(), path.size());
    struct stat status {};
    const bool socket = ::lstat(path.c_str(), &status) == 0 && S_ISSOCK(status.st_mode);
    if (socket && !is_served(path)) ::unlink(path.c_str());
    listener.descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener.descriptor_ < 0) return io_error("cannot make a socket", errno);
    RETURN_IF_ERROR(bind_and_listen(listener.descriptor_, reinterpret_cast<sockaddr*>(&name),
                                    sizeof name, address));
    listener.path_ = path;
    listener.unix_ = true;
    listener.address_ = address;
    return listener;
  }
  ASSIGN_OR_RETURN(const TcpAddress tcp, parse_tcp_address(address));
  boost::system::error_code failed;  // for instance, the zone does not exist
  const Tcp::endpoint endpoint(boost::asio::ip::make_address(tcp.ip, failed), tcp.port);
  if (failed) return invalid_argument("address", address + ": " + failed.message());
  listener.descriptor_ =
      ::socket(endpoint.protocol().family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (listener.descriptor_ < 0) return io_error("cannot make a socket", errno);
  const int on = 1;
  ::setsockopt(listener.descriptor_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  RETURN_IF_ERROR(bind_and_listen(listener.descriptor_, endpoint.data(), endpoint.size(), address));
  ASSIGN_OR_RETURN(listener.address_, bound_address(listener.descriptor_));
  return listener;
}

Result<HttpListener> HttpListener::adopt(int descriptor) {
  HttpListener listener;
  listener.descriptor_ = descriptor;
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  int type = 0;
  socklen_t type_size = sizeof type;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &type_size) != 0) {
    return io_error("inherited socket " + std::to_string(descriptor), errno);
  }
  const auto family = address.ss_family;
  if (type != SOCK_STREAM || (family != AF_INET && family != AF_INET6 && family != AF_UNIX)) {
    return invalid_argument("inherited socket " + std::to_string(descriptor),
                            "must be a stream socket of TCP or in the file system");
  }
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (::fcntl(descriptor, F_SETFL, flags | O_NONBLOCK) != 0 ||
      ::listen(descriptor, kBacklog) != 0) {
    return io_error("inherited socket " + std::to_string(descriptor), errno);
  }
  if (family == AF_UNIX) {
    const auto& name = reinterpret_cast<const sockaddr_un&>(address);
    listener.unix_ = listener.local_ = true;
    listener.address_ = std::string(kUnixAddress) + name.sun_path;
    return listener;
  }
  ASSIGN_OR_RETURN(listener.address_, bound_address(descriptor));
  ASSIGN_OR_RETURN(listener.local_, is_local_address(listener.address_));
  return listener;
}

HttpListener::HttpListener(HttpListener&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)),
      address_(std::move(other.address_)),
      path_(std::exchange(other.path_, {})),
      unix_(other.unix_),
      local_(other.local_) {}

HttpListener::~HttpListener() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  if (!path_.empty()) ::unlink(path_.c_str());
}

}  // namespace cascade
