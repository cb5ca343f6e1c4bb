// The daemon's run directory and the socket in it: private, and used by one daemon at a time.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>

#include "base/result.h"

namespace cascade {

// Holds the lock of a run directory; the lock ends with the process, however it ends.
class RunDir {
 public:
  // Creates `path` with mode 0700 if it does not exist, and locks it. A ZeroMQ bind on an ipc
  // endpoint takes a socket over silently, so only the lock keeps two daemons apart. A link to a
  // folder counts as that folder if the link belongs to this user or root; the lock must be a file
  // of its own. Errors: kIo, kNotFound for a link to nothing; kInvalidArgument if it is not a
  // folder, it or the link belongs to somebody else, or others may write to it; kConflict if
  // another daemon has it.
  static Result<RunDir> open(std::string path);

  RunDir(RunDir&& other) noexcept;
  RunDir& operator=(RunDir&&) = delete;
  ~RunDir();

 private:
  explicit RunDir(int lock_fd) : lock_fd_(lock_fd) {}
  int lock_fd_;
};

// The file of the socket that this process listens on. The file must not outlive the service, and
// ZeroMQ does not remove it. One thread at a time.
class SocketFile {
 public:
  // `endpoint` must be one that check_endpoint() accepts.
  explicit SocketFile(const std::string& endpoint);

  // Checks whether the process may listen there: ZeroMQ silently takes the place of anything with
  // this name. Errors, field = the path: kConflict if somebody listens; kInvalidArgument if it is
  // not a socket.
  Status check_free() const;
  // Call it when the process listens on the socket.
  void remember();
  // Lets the group connect with which the folder is shared: a folder of mode 0750 (group reads,
  // others nothing), if this process is in the group or root. Does nothing in any other folder.
  void open_to_group() const;
  // Deletes the file if it is the one that was remembered: by now somebody else may listen there. A
  // file that cannot be deleted stays.
  void remove() const;

 private:
  std::string path_;
  std::optional<std::pair<dev_t, ino_t>> identity_;
};

}  // namespace cascade
