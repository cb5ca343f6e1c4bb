// Notes the number of commits outside the database. This tells a log that lost its end from a log
// that never had more.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/file_calls.h"

namespace cascade {

// The file DIR/commits. It is written after each commit but never synchronised, so its number is at
// most the number of commits that the database should have. Best effort: nothing fails because of
// it.
class CommitCount {
 public:
  CommitCount(FileCalls& calls, const std::string& folder);

  // The number in the file; nullopt if there is no file or it is damaged.
  std::optional<int64_t> read();
  void write(int64_t commits);

 private:
  FileCalls& calls_;
  OwnedFd file_;
};

}  // namespace cascade
