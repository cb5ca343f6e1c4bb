// Endpoint defaults from the environment, and a probe of Unix sockets.
#include "clients/cpp/endpoint.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/endpoint.h"

namespace cascade::client {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kTcp = "tcp://";
constexpr const char* kSystemSocket = "/run/cascaded/cascaded.sock";
// sun_path has 108 bytes with its final zero.
constexpr size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

std::string reason(int errno_value) {
  switch (errno_value) {
    case ENOENT:
      return "there is no such socket";
    case ECONNREFUSED:
      return "nobody listens on that socket";
    case EACCES:
    case EPERM:
      return "this user may not open that socket (is it in the socket's group?)";
    default:
      return std::strerror(errno_value);
  }
}

Status probe_path(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return io_error("socket", errno);
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int problem = rc == 0 ? 0 : errno;
  ::close(fd);
  // EAGAIN: the listener's queue is full; somebody is there.
  if (problem == 0 || problem == EAGAIN || problem == EINPROGRESS) return {};
  return unreachable(reason(problem));
}

}  // namespace

Error unreachable(std::string message) {
  return {ErrorCode::kUnavailable, std::string(kEndpointField), std::move(message)};
}

bool is_unreachable(const Error& error) {
  return error.code == ErrorCode::kUnavailable && error.field == kEndpointField;
}

std::string endpoint_of_environment() {
  const char* given = std::getenv("CASCADE_ENDPOINT");
  return given == nullptr ? "" : given;
}

std::string default_endpoint() {
  if (std::string given = endpoint_of_environment(); !given.empty()) return given;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime == '/') {
    const std::string path = std::string(runtime) + "/cascaded/cascaded.sock";
    std::error_code error;
    if (std::filesystem::exists(path, error)) return std::string(kIpc) + path;
  }
  const std::string temporary = "/tmp/cascaded-" + std::to_string(::geteuid());
  const std::string path = temporary + "/cascaded.sock";
  std::error_code error;
  if (is_own_folder(temporary) && std::filesystem::exists(path, error)) {
    return std::string(kIpc) + path;
  }
  return std::string(kIpc) + kSystemSocket;
}

Status probe_endpoint(const std::string& endpoint) {
  const std::string field(kEndpointField);
  if (endpoint.rfind(kTcp, 0) == 0 && endpoint.size() > kTcp.size()) return {};
  if (endpoint.rfind(kIpc, 0) != 0) {
    return invalid_argument(field, "must be ipc://PATH or tcp://HOST:PORT, got " + endpoint);
  }
  const std::string path = endpoint.substr(kIpc.size());
  if (path.empty() || path[0] == '@' || path.find('\0') != std::string::npos) {
    return invalid_argument(field, "must name the path of a socket, got " + endpoint);
  }
  if (path.size() > kPathBytesMax) {
    return invalid_argument(field, "the path of a socket has at most " +
                                       std::to_string(kPathBytesMax) + " bytes, got " +
                                       std::to_string(path.size()));
  }
  return probe_path(path);
}

}  // namespace cascade::client
