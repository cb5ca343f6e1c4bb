// A state directory that no daemon uses: checked and copied by this process.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "persist/store.h"
#include "wire/messages.h"

namespace cascade::ctl {

class OfflineState {
 public:
  // Opens the state directory `path` as the daemon's start does, and repairs what keeps it from
  // opening. With `rebuild`, makes the database anew. The directory is locked until this object is
  // destroyed. Errors, field = path: kNotFound and kInvalidArgument if this user has no state
  // directory there (nothing is made); and those of Store::open(), among them is_in_use().
  static Result<OfflineState> open(const std::string& path, bool rebuild);
  // Whether `error` of open() means that another process, a daemon, uses the directory.
  static bool is_in_use(const Error& error, const std::string& path);

  // Blocks until everything is read. Errors: as Fsck::step() and Backup::begin(), step().
  Result<wire::FsckReply> fsck(bool repair);
  Result<wire::BackupReply> backup(const std::string& directory);

 private:
  explicit OfflineState(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  std::unique_ptr<Store> store_;
};

// The value of --state-dir if it was given, else the daemon's default; absolute and without
// symbolic links as far as it exists. Empty if there is no default.
std::string state_dir_of(const std::optional<std::string>& given);

}  // namespace cascade::ctl
