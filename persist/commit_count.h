// How many commits there were, noted outside the database: a log that lost its end can be told from
// one that never had it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_calls.h"

namespace cascade {

// The file DIR/commits. It is written after each commit and never synchronised, so it says at most
// as much as the database should have. Best effort: nothing fails because of it.
class CommitCount {
 public:
  CommitCount(FileCalls& calls, const std::string& folder);

  // What the file says; nullopt if there is none or it is damaged.
  std::optional<int64_t> read();
  void write(int64_t commits);

 private:
  FileCalls& calls_;
  OwnedFd file_;
};

}  // namespace cascade
