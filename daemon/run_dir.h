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
  // endpoint takes a socket over silently, so the lock is what keeps two daemons apart.
  // A link to a folder, of this user or of root, counts as that folder; the lock must be a file of
  // its own. Errors: kIo, kNotFound for a link to nothing; kInvalidArgument if it is not a folder,
  // it or the link belongs to somebody else, or it is open to others' writing; kConflict if another
  // daemon has it.
  static Result<RunDir> open(std::string path);

  RunDir(RunDir&& other) noexcept;
  RunDir& operator=(RunDir&&) = delete;
  ~RunDir();

 private:
  explicit RunDir(int lock_fd) : lock_fd_(lock_fd) {}
  int lock_fd_;
};

// The file of the socket that this process listens on, so that it does not outlive the service:
// ZeroMQ leaves it. One thread at a time.
class SocketFile {
 public:
  // `endpoint` as check_endpoint() wants it.
  explicit SocketFile(const std::string& endpoint);

  // Whether the process may listen there: ZeroMQ takes the place of whatever has the name, in
  // silence. Errors, field = the path: kConflict if somebody listens; kInvalidArgument if it is no
  // socket.
  Status check_free() const;
  // The process listens on it now.
  void remember();
  // Lets the group connect that the folder is shared with: one of mode 0750 (group reads, others
  // nothing), if this process is one of it or root. Does nothing in any other folder.
  void open_to_group() const;
  // Deletes the file if it is the one that was remembered: somebody else may listen there by now.
  // What cannot be deleted stays.
  void remove() const;

 private:
  std::string path_;
  std::optional<std::pair<dev_t, ino_t>> identity_;
};

}  // namespace cascade
