// Calls sd_listen_fds, and looks where each socket is bound.
#include "daemon/inherited_sockets.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace cascade {
namespace {

constexpr char kIpc[] = "ipc://";

}  // namespace

Result<InheritedSockets> InheritedSockets::take() {
  InheritedSockets sockets;
  const int count = sd_listen_fds(/*unset_environment=*/0);
  if (count < 0) return io_error("LISTEN_FDS", -count);
  std::string bad;
  for (int fd = SD_LISTEN_FDS_START; fd < SD_LISTEN_FDS_START + count; ++fd) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    // A call of accept() must not wait if the client has already left.
    ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
    const bool listens = sd_is_socket(fd, AF_UNSPEC, SOCK_STREAM, /*listening=*/1) > 0;
    if (!listens || ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      bad += (bad.empty() ? "" : ", ") + std::to_string(fd);
      ::close(fd);
    } else if (address.ss_family == AF_UNIX) {
      sockets.by_path_[reinterpret_cast<const sockaddr_un&>(address).sun_path] = fd;
    } else {
      sockets.tcp_.push_back(fd);
    }
  }
  if (bad.empty()) return sockets;
  return invalid_argument("LISTEN_FDS", "descriptor " + bad + " is not a listening stream socket");
}

InheritedSockets::InheritedSockets(InheritedSockets&& other) noexcept
    : by_path_(std::exchange(other.by_path_, {})), tcp_(std::exchange(other.tcp_, {})) {}

InheritedSockets::~InheritedSockets() {
  for (const auto& [path, fd] : by_path_) ::close(fd);
  for (const int fd : tcp_) ::close(fd);
}

std::optional<int> InheritedSockets::find_ipc(const std::string& endpoint) const {
  if (!endpoint.starts_with(kIpc)) return std::nullopt;
  const auto found = by_path_.find(endpoint.substr(sizeof kIpc - 1));
  if (found == by_path_.end()) return std::nullopt;
  return found->second;
}

std::vector<int> InheritedSockets::take_others(const std::vector<std::string>& endpoints) {
  std::vector<int> others = std::exchange(tcp_, {});
  for (auto it = by_path_.begin(); it != by_path_.end();) {
    const bool ours = std::ranges::find(endpoints, kIpc + it->first) != endpoints.end();
    if (!ours) others.push_back(it->second);
    it = ours ? std::next(it) : by_path_.erase(it);
  }
  return others;
}

}  // namespace cascade
