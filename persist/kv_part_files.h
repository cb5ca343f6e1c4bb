// Reads parts of leased pages from their KV files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_calls.h"
#include "base/result.h"
#include "persist/page_leases.h"

namespace cascade {

// A part of a leased page to read: into `to`, which is at a multiple of 4,096 bytes and has room
// for the part in whole blocks.
struct PartRead {
  uint32_t lease = 0;
  uint8_t* to = nullptr;
};

// Some bytes of a part to read. They are written from to + begin % 4,096 on; `to` is at a multiple
// of 4,096 bytes, and what is around them, in whole blocks, may be overwritten.
struct RangeRead {
  uint32_t lease = 0;
  uint8_t* to = nullptr;
  uint64_t begin = 0;
  uint64_t bytes = 0;     // at least 1; the range ends within the part
  uint64_t checksum = 0;  // XXH3-64 of these bytes
};

// Why a part could not be read.
struct UnreadPart {
  size_t index = 0;  // in the list of parts
  // kDataCorrupt or kNotFound: the page must be computed again. kIo: the disk failed.
  Error error;
};

// Files are open only while they are read: the store may remove them at other times. Leaves out the
// system's cache where the file system can: it would hold in memory what memory has
// no room for. One thread at a time.
class KvPartFiles {
 public:
  // How many parts are read at once: one at a time, small parts take as long as the disk's latency.
  static constexpr int kReadsAtOnce = 8;

  // The KV files are in `folder`. With `reads_at_once` above 1, `calls` is used by other threads,
  // too. The references outlive this.
  KvPartFiles(FileCalls& calls, std::string folder, const PageLeases& leases,
              int reads_at_once = kReadsAtOnce);

  // Reads and verifies part `part` of each of these pages. nullopt: all are good. Otherwise the
  // first one that is not; the bytes of all are unspecified.
  std::optional<UnreadPart> read(size_t part, std::span<const PartRead> parts);
  // The same for ranges of these parts. Where a part is compressed, all of it is read.
  std::optional<UnreadPart> read(size_t part, std::span<const RangeRead> ranges);

 private:
  struct File {
    OwnedFd fd;
    std::string path;
    bool direct;  // the system's cache is left out
  };
  struct Task {
    std::shared_ptr<const LeasedPage> page;
    std::shared_ptr<const File> file;
    uint8_t* to;
    const RangeRead* range;  // nullptr: the whole part
    std::optional<Error> error;
    bool refused_direct = false;  // the file system cannot read this without its cache
  };

  Result<std::shared_ptr<const File>> open(int64_t number);
  template <class Read>
  Result<std::vector<Task>> plan(std::span<const Read> reads, UnreadPart& unread);
  template <class Read>
  std::optional<UnreadPart> read_all(size_t part, std::span<const Read> reads);
  void run(size_t part, std::span<Task> tasks) const;
  void read_task(size_t part, Task& task) const;
  Result<bool> read_part(const KvPart& stored, uint64_t offset, Task& task, uint8_t* to) const;
  Result<bool> read_range(const KvPart& stored, uint64_t offset, Task& task) const;
  Result<bool> read_bytes(Task& task, uint8_t* to, uint64_t bytes, uint64_t offset) const;

  FileCalls& calls_;
  const std::string folder_;
  const PageLeases& leases_;
  const int reads_at_once_;
  bool direct_ = true;  // until the file system refuses that
};

}  // namespace cascade
