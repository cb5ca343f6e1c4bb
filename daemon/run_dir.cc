// Uses mkdir, fstat and flock.
#include "daemon/run_dir.h"

#include <fcntl.h>
#include <spdlog/spdlog.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>

#include "base/endpoint.h"
#include "wire/events_endpoint.h"

namespace cascade {
namespace {

constexpr std::string_view kIpcScheme = "ipc://";
// sun_path of sockaddr_un without the final NUL, for the longer of the two sockets.
static_assert(kSocketPathBytesMax == 107 - wire::kEventsSuffix.size());

std::optional<std::pair<dev_t, ino_t>> identity_of(const std::string& path) {
  struct stat info = {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISSOCK(info.st_mode)) return std::nullopt;
  return std::pair(info.st_dev, info.st_ino);
}

}  // namespace

Result<RunDir> RunDir::open(std::string path) {
  // With a slash at the end, the parent path would be the folder itself, and the folder would be
  // made as a parent.
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return io_error(path, errno);
  struct stat info = {};
  if (::lstat(path.c_str(), &info) == 0 && S_ISLNK(info.st_mode) && info.st_uid != 0 &&
      info.st_uid != ::geteuid()) {
    return invalid_argument(path, "is a link that belongs to another user");
  }
  if (::stat(path.c_str(), &info) != 0) return io_error(path, errno);
  if (!S_ISDIR(info.st_mode)) return invalid_argument(path, "is not a folder");
  if (info.st_uid != ::geteuid()) return invalid_argument(path, "belongs to another user");
  if ((info.st_mode & 0022) != 0) {
    return invalid_argument(path, "is writable by others; use a folder of mode 0700 or 0750");
  }
  const std::string lock = path + "/cascaded.lock";
  const int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (fd < 0) return io_error(lock, errno);
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) {
    const int lock_errno = errno;
    ::close(fd);
    if (lock_errno != EWOULDBLOCK) return io_error(lock, lock_errno);
    return Error{ErrorCode::kConflict, path, "another cascaded is running here"};
  }
  return RunDir(fd);
}

RunDir::RunDir(RunDir&& other) noexcept : lock_fd_(std::exchange(other.lock_fd_, -1)) {}

RunDir::~RunDir() {
  if (lock_fd_ >= 0) ::close(lock_fd_);
}

SocketFile::SocketFile(const std::string& endpoint) : path_(endpoint.substr(kIpcScheme.size())) {}

Status SocketFile::check_free() const {
  struct stat info = {};
  if (::lstat(path_.c_str(), &info) != 0) return {};
  if (!S_ISSOCK(info.st_mode)) return invalid_argument(path_, "exists, and is not a socket");
  if (!is_served(path_)) return {};
  return Error{ErrorCode::kConflict, path_, "somebody listens there already"};
}

void SocketFile::remember() {
  identity_ = identity_of(path_);
}

void SocketFile::open_to_group() const {
  const std::string folder = std::filesystem::path(path_).parent_path();
  struct stat around = {};
  struct stat socket = {};
  if (::stat(folder.c_str(), &around) != 0 || ::lstat(path_.c_str(), &socket) != 0) return;
  const bool shared = (around.st_mode & 0077) == 0050;
  if (!shared || !S_ISSOCK(socket.st_mode) || socket.st_uid != ::geteuid()) return;
  const bool given = around.st_gid == socket.st_gid ||
                     ::lchown(path_.c_str(), static_cast<uid_t>(-1), around.st_gid) == 0;
  if (!given || ::chmod(path_.c_str(), 0660) != 0) {
    spdlog::warn("{}: its group cannot get access: {}", path_, std::strerror(errno));
  }
}

void SocketFile::remove() const {
  if (identity_ && identity_of(path_) == identity_) ::unlink(path_.c_str());
}

}  // namespace cascade
