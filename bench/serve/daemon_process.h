// A cascaded of our own: started on private folders, watched, and stopped whatever happens.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::serve {

// A new folder with mode 0700 in the system's folder for temporary files, removed in the end.
class TemporaryFolder {
 public:
  // Errors: as io_error; kInvalidArgument, field "TMPDIR", where a socket's path would be too long.
  static Result<std::unique_ptr<TemporaryFolder>> create();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  explicit TemporaryFolder(std::filesystem::path path) : path_(std::move(path)) {}
  std::filesystem::path path_;
};

// One thread. Dies with that thread: the system kills it where nothing else could.
class DaemonProcess {
 public:
  // Starts `program` with `arguments` and a run directory in `folder`, which is created, and waits
  // until it serves. One daemon of a folder at a time. Errors: kInvalidArgument, field
  // "--daemon-arg", where it refuses its command line; kUnavailable with its last words where it
  // ends; kDeadlineExceeded after ten minutes; kCancelled.
  static Result<std::unique_ptr<DaemonProcess>> start(const std::string& program,
                                                      std::vector<std::string> arguments,
                                                      const std::filesystem::path& folder);
  // SIGTERM, after a bound SIGKILL.
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  pid_t pid() const { return pid_; }
  // The socket of the default tenant, or of `tenant`.
  std::string endpoint(const std::string& tenant = "") const;
  // Waits until that socket answers. Errors: as start().
  Status wait_until_serving(const std::string& tenant = "");
  // SIGKILL. Returns when it has ended.
  void kill();
  // What to say when it does not answer with `otherwise`: its last words, if it ends within a
  // second.
  Error why_gone(const Error& otherwise);
  // Error, with its last words, if it has ended.
  Status check_alive();

 private:
  DaemonProcess(pid_t pid, const std::filesystem::path& folder);
  bool ended();
  Error last_words() const;

  pid_t pid_;
  std::filesystem::path run_dir_;
  std::filesystem::path log_;
  int exit_code_ = -1;  // or 128 + signal; -1 while it runs
};

}  // namespace cascade::serve
