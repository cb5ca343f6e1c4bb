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
  // Opens the state directory `path`, as the daemon's start does: it repairs what keeps it from
  // opening. `rebuild`: makes the database anew. It is locked until this is destroyed.
  // Errors, field = path: kNotFound and kInvalidArgument if there is no state directory of this
  // user (nothing is made); and those of Store::open(), among them is_in_use().
  static Result<OfflineState> open(const std::string& path, bool rebuild);
  // Whether `error` of open() means that a process has it: a daemon.
  static bool is_in_use(const Error& error, const std::string& path);

  // Blocks until everything is read. Errors: as Fsck::step() and Backup::begin(), step().
  Result<wire::FsckReply> fsck(bool repair);
  Result<wire::BackupReply> backup(const std::string& directory);

 private:
  explicit OfflineState(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  std::unique_ptr<Store> store_;
};

// --state-dir, if it was given, else what the daemon takes, absolute and without symbolic links as
// far as it is there; empty if there is no default.
std::string state_dir_of(const std::optional<std::string>& given);

}  // namespace cascade::ctl
