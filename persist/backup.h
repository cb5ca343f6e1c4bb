// A copy of a store that another state directory can begin with.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "persist/store.h"

namespace cascade {

// Copies an open store to a folder, a part at a time, so that others can use the store in between.
// The copy is the store as it is when the last step ends. Pages are verified on the way, and bad
// ones are left out. Content that is deleted while the backup runs may stay in its KV files. One
// thread.
class Backup {
 public:
  // Begins a backup to `folder`, which must be empty, or must not exist: then it is made (mode
  // 0700). `store` must outlive this. Errors, field = folder: kConflict if it is not empty; kIo.
  static Result<std::unique_ptr<Backup>> begin(Store& store, const std::string& folder);

  // Copies about `bytes_max` bytes of pages. The last step copies the database and returns false;
  // everything is durable then. Commits. Errors: as Store::commit(); kIo, kResourceExhausted, field
  // = the file. An incomplete backup has a file (kUnfinishedBackup) that says so, and is refused as
  // a state directory.
  Result<bool> step(uint64_t bytes_max);

 private:
  Backup(Store& store, std::string folder) : store_(store), folder_(std::move(folder)) {}

  Store& store_;
  std::string folder_;
  PagePlace after_;
};

}  // namespace cascade
