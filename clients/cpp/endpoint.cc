// Endpoint defaults from the environment, and a probe of Unix sockets.
#include "clients/cpp/endpoint.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "base/endpoint.h"
#include "base/run_places.h"

namespace cascade::client {
namespace {

constexpr std::string_view kIpc = "ipc://";
constexpr std::string_view kTcp = "tcp://";
// sun_path has 108 bytes, including its final zero.
constexpr size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;

// Longer names are shown as numbers.
using NameBuffer = std::array<char, 4096>;

std::string user_name(uid_t user) {
  passwd entry{};
  passwd* found = nullptr;
  NameBuffer buffer;
  (void)::getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(user) : found->pw_name;
}

std::string group_name(gid_t group) {
  struct group entry {};
  struct group* found = nullptr;
  NameBuffer buffer;
  (void)::getgrgid_r(group, &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::to_string(group) : found->gr_name;
}

// Says who may open the socket, or who may enter its folder if that is closed to this user.
std::string who_may_open(const std::string& path) {
  const std::string folder = std::filesystem::path(path).parent_path();
  struct stat info {};
  mode_t group_bits = S_IWGRP;
  if (::stat(path.c_str(), &info) != 0) {
    group_bits = S_IXGRP;
    if (::stat(folder.c_str(), &info) != 0) return "";
  }
  if ((info.st_mode & group_bits) == 0) {
    return ": only the user " + user_name(info.st_uid) + " may connect";
  }
  const std::string group = group_name(info.st_gid);
  return ": only the group " + group + " may connect (adduser " + user_name(::geteuid()) + " " +
         group + ", then log in again)";
}

std::string reason(int errno_value, const std::string& path) {
  switch (errno_value) {
    case ENOENT: return "there is no such socket";
    case ECONNREFUSED: return "nobody listens on that socket";
    case EACCES:
    case EPERM: return "permission denied" + who_may_open(path);
    default: return std::strerror(errno_value);
  }
}

// Returns 0 if somebody listens there, else the reason why nobody can be reached (an errno value).
int connect_error(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() > kPathBytesMax) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return errno;
  const int rc = ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int problem = rc == 0 ? 0 : errno;
  ::close(fd);
  // EAGAIN means that the listener's queue is full, so somebody is there.
  return problem == EAGAIN || problem == EINPROGRESS ? 0 : problem;
}

std::string path_of(const std::string& endpoint) {
  return endpoint.substr(kIpc.size());
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

std::vector<std::string> default_endpoints() {
  std::vector<std::string> endpoints;
  for (const std::string& folder : client_run_dirs(run_surroundings())) {
    endpoints.push_back(cascade::default_endpoint(folder));
  }
  return endpoints;
}

std::string default_endpoint() {
  if (std::string given = endpoint_of_environment(); !given.empty()) return given;
  const std::vector<std::string> endpoints = default_endpoints();
  const std::string* there = nullptr;
  for (const std::string& endpoint : endpoints) {
    const int problem = connect_error(path_of(endpoint));
    if (problem == 0) return endpoint;
    const bool missing = problem == ENOENT || problem == ENOTDIR;
    if (there == nullptr && !missing) there = &endpoint;
  }
  return there != nullptr ? *there : cascade::default_endpoint(kSystemRunDir);
}

Status probe_endpoint(const std::string& endpoint) {
  const std::string field(kEndpointField);
  if (endpoint.rfind(kTcp, 0) == 0 && endpoint.size() > kTcp.size()) return {};
  if (endpoint.rfind(kIpc, 0) != 0) {
    return invalid_argument(field, "must be ipc://PATH or tcp://HOST:PORT, got " + endpoint);
  }
  const std::string path = path_of(endpoint);
  if (path.empty() || path[0] == '@' || path.find('\0') != std::string::npos) {
    return invalid_argument(field, "must name the path of a socket, got " + endpoint);
  }
  if (path.size() > kPathBytesMax) {
    return invalid_argument(field, "the path of a socket has at most " +
                                       std::to_string(kPathBytesMax) + " bytes, got " +
                                       std::to_string(path.size()));
  }
  const int problem = connect_error(path);
  return problem == 0 ? Status() : unreachable(reason(problem, path));
}

bool is_forbidden(const std::string& endpoint) {
  if (!endpoint.starts_with(kIpc)) return false;
  const int problem = connect_error(path_of(endpoint));
  return problem == EACCES || problem == EPERM;
}

}  // namespace cascade::client
