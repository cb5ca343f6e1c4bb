// Checks and backups of the store, a part at a time between other work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/result.h"
#include "persist/backup.h"
#include "persist/fsck.h"
#include "persist/store.h"
#include "wire/messages.h"

namespace cascade {

// Runs one check or backup at a time. One thread: that of the store.
class StoreUpkeep {
 public:
  using Send = std::function<void(wire::Message)>;

  // `states` is the store of recurrent states beside `store`; nullptr: there is none. Both must
  // outlive this.
  explicit StoreUpkeep(Store& store, Store* states = nullptr) : store_(store), states_(states) {}

  // Begins a check of both stores or a backup of the first, or answers why not: kConflict if one is
  // under way, or if the state directory is not the one that the request names; errors of
  // Backup::begin().
  void start(const wire::StoreCheck& check, const Send& send);
  void start(const wire::StoreBackup& backup, const Send& send);

  bool busy() const { return fsck_.has_value() || backup_ != nullptr; }
  // Does about 16 MiB of the current work, and answers when it is finished. Commits, so there must
  // be no changes whose commit somebody else waits for. Precondition: busy().
  void step(const Send& send);

 private:
  Status check_start(const std::string& state_dir) const;
  void step_check(const Send& send);
  void step_backup(const Send& send);

  Store& store_;
  Store* const states_;
  uint64_t job_ = 0;
  std::optional<Fsck> fsck_;
  bool checks_states_ = false;  // fsck_ is that of states_
  bool repairs_ = false;
  wire::FsckReply checked_;  // what a check has found so far
  std::unique_ptr<Backup> backup_;
  wire::BackupReply before_;  // what the store had copied before this backup
};

}  // namespace cascade
