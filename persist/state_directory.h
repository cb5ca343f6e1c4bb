// The daemon's folder: made, checked and locked, so that one process owns what is in it.
#pragma once

#include <memory>
#include <string>

#include "base/file_calls.h"
#include "base/result.h"
#include "persist/finding.h"

namespace cascade {

// The name of a file that a backup (persist/backup.h) has in its folder as long as the backup is
// incomplete.
inline constexpr char kUnfinishedBackup[] = "/backup.unfinished";

// Makes `path` (mode 0700) and the folders above it, if they do not exist, and makes their names
// durable. Errors: kIo, field = the folder.
Status make_folders(FileCalls& calls, const std::string& path);

// Where the daemon keeps its state unless it is told: $STATE_DIRECTORY of systemd (the first of a
// list), else $XDG_STATE_HOME/cascade, else ~/.local/state/cascade. A home that this user cannot
// write to (/nonexistent, /) does not count. Empty if there is none of these. Only absolute paths
// count, as the XDG specification says. Reads the environment: do not call it while another thread
// changes that.
std::string default_state_dir();

// Checks that `path` is a state directory of ours, for callers that do not want to make one.
// Errors, field = path: kNotFound if it does not exist; kInvalidArgument if it is not a folder,
// belongs to another user, can be written to by others, or holds neither a database nor KV files;
// kIo.
Status check_state_directory(FileCalls& calls, const std::string& path);

// Makes the folder PATH/NAME if needed. Something in its place that cannot be used as a folder is
// set aside, because `content`, its content, can be computed again: `findings` says so. A link to a
// folder is used: it is its owner's way to another disk. Errors: kIo, field = the folder.
Status make_folder_of_copies(FileCalls& calls, const std::string& path, const std::string& name,
                             const std::string& content, Findings& findings);

// DIR/lock, DIR/metadata.db, DIR/kv/. Other files of the folder are not touched.
class StateDirectory {
 public:
  // Makes the folder `path` (mode 0700, and those above it) if it does not exist, and locks it
  // until this is destroyed or the process ends. `calls` must outlive this.
  // Errors, field = path: kConflict if another process has it, with its pid if that is known;
  // kInvalidArgument if it is not a folder, belongs to another user, or others may write to it;
  // kDataCorrupt if it is a backup that is not complete; kIo if it cannot be made or written to (it
  // is read-only, say).
  static Result<std::unique_ptr<StateDirectory>> open(FileCalls& calls, const std::string& path);

  // Use open().
  StateDirectory(FileCalls& calls, std::string path, int lock_fd);

  FileCalls& calls() const { return calls_; }
  const std::string& path() const { return path_; }
  std::string database_path() const { return path_ + "/metadata.db"; }
  std::string kv_folder() const { return path_ + "/" + kKvFolder; }
  // What open() found and repaired.
  const Findings& findings() const { return findings_; }

 private:
  static constexpr char kKvFolder[] = "kv";

  Status make_kv_folder();

  FileCalls& calls_;
  std::string path_;
  OwnedFd lock_;
  Findings findings_;
};

}  // namespace cascade
