// The daemon's run directory: private, and used by one daemon at a time.
#pragma once

#include <string>

#include "base/result.h"

namespace cascade {

// Holds the lock of a run directory; the lock ends with the process, however it ends.
class RunDir {
 public:
  // Creates `path` with mode 0700 if it does not exist, and locks it. A ZeroMQ bind on an ipc
  // endpoint takes a socket over silently, so the lock is what keeps two daemons apart.
  // A link to a folder counts as that folder; the lock must be a file of its own.
  // Errors: kIo, kNotFound for a link to nothing; kInvalidArgument if it is not a folder, belongs
  // to somebody else or is open to others' writing; kConflict if another daemon has it.
  static Result<RunDir> open(std::string path);

  RunDir(RunDir&& other) noexcept;
  RunDir& operator=(RunDir&&) = delete;
  ~RunDir();

 private:
  explicit RunDir(int lock_fd) : lock_fd_(lock_fd) {}
  int lock_fd_;
};

// Checks an endpoint given by the user: ipc:// with an absolute path of at most 107 bytes (the
// limit of a UNIX socket's address). Errors: kInvalidArgument, kUnsupported for other transports.
Status check_endpoint(const std::string& endpoint);

}  // namespace cascade
