// Our own cascaded: it is started on private folders, watched, and stopped whatever happens.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::serve {

// A new folder with mode 0700 in the system's folder for temporary files. The destructor removes
// it.
class TemporaryFolder {
 public:
  // Errors: those of io_error; kInvalidArgument, field "TMPDIR", if a socket's path would be too
  // long.
  static Result<std::unique_ptr<TemporaryFolder>> create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// Used by one thread. The daemon dies with that thread: the system kills it if nothing else can.
class DaemonProcess {
 public:
  // Starts `program` with `arguments` and a run directory in `folder`, which is made if needed, and
  // waits until the daemon serves. A folder has one daemon at a time. Errors: kInvalidArgument,
  // field "--daemon-arg", if the daemon refuses its command line; kUnavailable, with its last
  // words, if it ends; kDeadlineExceeded after ten minutes; kCancelled.
  static Result<std::unique_ptr<DaemonProcess>> start(const std::string& program,
                                                      std::vector<std::string> arguments,
                                                      const std::filesystem::path& folder);
  // Sends SIGTERM, and SIGKILL if the daemon has not ended after a limited time.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The socket of the default tenant, or of `tenant`.
  std::string endpoint(const std::string& tenant = "") const;
  // Waits until the socket endpoint(tenant) answers. Errors: those of start().
  Status wait_until_serving(const std::string& tenant = "");
  // Sends SIGKILL. Returns when the daemon has ended.
  void kill();
  // The error to report if the daemon does not answer: its last words if it ends within a second,
  // else `otherwise`.
  Error why_gone(const Error& otherwise);
  // Error, with the daemon's last words, if it has ended.
  Status check_alive();

 private:
  DaemonProcess(pid_t pid, const std::filesystem::path& folder);
  bool ended();
  Error last_words() const;

  pid_t pid_;
  std::filesystem::path run_dir_;
  std::filesystem::path log_;
  int exit_code_ = -1;  // or 128 + signal; -1 while the daemon runs
};

}  // namespace cascade::serve
