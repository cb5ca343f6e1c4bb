// Reads and writes a number and its checksum.
#include "persist/commit_count.h"

#include <fcntl.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <cstring>

namespace cascade {
namespace {

using Record = std::array<uint64_t, 2>;  // number, XXH3-64 of it

uint64_t checksum(uint64_t commits) {
  return XXH3_64bits(&commits, sizeof commits);
}

}  // namespace

CommitCount::CommitCount(FileCalls& calls, const std::string& folder)
    : calls_(calls),
      file_(calls,
            calls.open(folder + "/commits", O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0600)) {
  struct stat info = {};
  if (file_.ok() && (calls_.status(file_.fd(), info) != 0 || !S_ISREG(info.st_mode))) file_.close();
}

std::optional<int64_t> CommitCount::read() {
  Record record{};
  const auto bytes = static_cast<ssize_t>(sizeof record);
  if (!file_.ok() || calls_.read(file_.fd(), record.data(), sizeof record, 0) != bytes) {
    return std::nullopt;
  }
  if (record[1] != checksum(record[0])) return std::nullopt;
  return static_cast<int64_t>(record[0]);
}

void CommitCount::write(int64_t commits) {
  const auto number = static_cast<uint64_t>(commits);
  const Record record = {number, checksum(number)};
  if (file_.ok()) calls_.write(file_.fd(), record.data(), sizeof record, 0);
}

}  // namespace cascade
