// The lock is flock's, which ends with the process; the pid in the file is for people.
#include "persist/state_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <utility>
#include <vector>

#include "base/set_aside.h"

namespace cascade {
namespace {

constexpr size_t kPidBytesMax = 32;

Status check_folder(FileCalls& calls, const std::string& path) {
  struct stat info = {};
  if (calls.path_status(path, info) != 0) return io_error(path, errno);
  if (!S_ISDIR(info.st_mode)) return invalid_argument(path, "is not a folder");
  if (info.st_uid != ::geteuid()) {
    return invalid_argument(path, "belongs to user " + std::to_string(info.st_uid) +
                                      ", this program runs as user " + std::to_string(::geteuid()));
  }
  if ((info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return invalid_argument(path, "other users may write to it; only its owner should");
  }
  return {};
}

// "" or " (pid 123)"
std::string holder(FileCalls& calls, int fd, const std::string& path) {
  const auto content = read_fully(calls, fd, kPidBytesMax, 0, path);
  if (!content.ok()) return {};
  std::string pid;
  for (const uint8_t byte : *content) {
    if (std::isdigit(byte) == 0) break;
    pid.push_back(static_cast<char>(byte));
  }
  return pid.empty() ? pid : " (pid " + pid + ")";
}

Status write_pid(FileCalls& calls, int fd, const std::string& path) {
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (calls.truncate(fd, 0) != 0) return io_error(path, errno);
  return write_fully(calls, fd, {reinterpret_cast<const uint8_t*>(pid.data()), pid.size()}, 0,
                     path);
}

}  // namespace

Status make_folders(FileCalls& calls, const std::string& path) {
  const size_t end = path.rfind('/');
  const std::string parent =
      end == std::string::npos ? "." : path.substr(0, std::max(end, size_t{1}));
  struct stat info = {};
  const bool is_there = calls.path_status(path, info) == 0;
  if (!is_there) {
    if (errno != ENOENT) return io_error(path, errno);
    if (parent != "." && parent != "/") RETURN_IF_ERROR(make_folders(calls, parent));
    if (calls.make_folder(path) != 0 && errno != EEXIST) return io_error(path, errno);
  }
  // The parent is synchronised even if the folder existed: whoever made it may have failed to do
  // so. If we may not read the parent of an existing folder, somebody else made the folder.
  const Status synced = sync_folder(calls, parent);
  return is_there && errno == EACCES ? Status() : synced;
}

// Whether this user may write to the folder, or to the nearest one above it that exists.
bool can_be_made(std::string path) {
  const auto may = [&](int what) {
    return ::faccessat(AT_FDCWD, path.c_str(), what, AT_EACCESS) == 0;
  };
  while (!may(F_OK) && errno == ENOENT && path.size() > 1) {
    path.resize(std::max(path.rfind('/'), size_t{1}));
  }
  return may(W_OK);
}

std::string default_state_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    std::string path = value == nullptr ? "" : value;
    return path.starts_with('/') ? path : std::string();
  };
  if (const std::string list = variable("STATE_DIRECTORY"); !list.empty()) {
    return list.substr(0, list.find(':'));
  }
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) {
    return state + "/cascade";
  }
  const std::string home = variable("HOME");
  const std::string path = home + "/.local/state/cascade";
  return home.empty() || !can_be_made(path) ? "" : path;
}

Status check_state_directory(FileCalls& calls, const std::string& path) {
  struct stat info = {};
  if (calls.path_status(path, info) != 0) {
    if (errno != ENOENT) return io_error(path, errno);
    return not_found(path, "there is no such folder");
  }
  RETURN_IF_ERROR(check_folder(calls, path));
  for (const char* name : {"/metadata.db", "/metadata.damaged.db", "/kv"}) {
    if (calls.path_status(path + name, info) == 0) return {};
    if (errno != ENOENT) return io_error(path + name, errno);
  }
  return invalid_argument(path, "is not a state directory: it has no metadata.db");
}

StateDirectory::StateDirectory(FileCalls& calls, std::string path, int lock_fd)
    : calls_(calls), path_(std::move(path)), lock_(calls, lock_fd) {}

Result<std::unique_ptr<StateDirectory>> StateDirectory::open(FileCalls& calls,
                                                             const std::string& path) {
  RETURN_IF_ERROR(make_folders(calls, path));
  RETURN_IF_ERROR(check_folder(calls, path));
  struct stat info = {};
  if (calls.path_status(path + kUnfinishedBackup, info) == 0) {
    return Error{ErrorCode::kDataCorrupt, path, "is an incomplete backup; delete it"};
  }
  const std::string lock_path = path + "/lock";
  const int fd = calls.open(lock_path, O_RDWR | O_CREAT | O_NOFOLLOW, 0600);
  if (fd < 0) return io_error(path, errno);
  auto directory = std::make_unique<StateDirectory>(calls, path, fd);
  if (calls.lock(fd) != 0) {
    if (errno != EWOULDBLOCK) return io_error(path, errno);
    return Error{ErrorCode::kConflict, path,
                 "another process" + holder(calls, fd, path) + " uses this state directory"};
  }
  // If there is no space for a pid, the lock still holds.
  (void)write_pid(calls, fd, lock_path).ok();
  RETURN_IF_ERROR(directory->make_kv_folder());
  return directory;
}

Status StateDirectory::make_kv_folder() {
  return make_folder_of_copies(calls_, path_, kKvFolder, "K and V", findings_);
}

Status make_folder_of_copies(FileCalls& calls, const std::string& path, const std::string& name,
                             const std::string& content, Findings& findings) {
  const std::string folder = path + "/" + name;
  const auto can_list = [&] {
    std::vector<std::string> names;
    return calls.list(folder, names) == 0;
  };
  if (can_list()) return make_folders(calls, folder);
  if (errno == ENOENT) {
    RETURN_IF_ERROR(make_folders(calls, folder));
    if (can_list()) return {};
  }
  // ENOENT here: a link exists, but leads nowhere.
  const int why = errno;
  if (why != ENOENT && why != ENOTDIR && why != ELOOP && why != EACCES) {
    return io_error(folder, why);
  }
  ASSIGN_OR_RETURN(const std::string moved, set_aside(calls, path, name));
  findings.push_back({folder, "is no folder that this user may read, so it is " + moved + " now; " +
                                  content + " are computed again"});
  return make_folders(calls, folder);
}

}  // namespace cascade
