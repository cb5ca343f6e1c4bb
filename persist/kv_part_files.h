// Reads parts of leased pages from their KV files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/file_calls.h"
#include "base/result.h"
#include "persist/page_leases.h"

namespace cascade {

// Leaves out the system's cache where the file system can: it would hold in memory what memory has
// no room for. One thread at a time.
class KvPartFiles {
 public:
  // The KV files are in `folder`. The references outlive this.
  KvPartFiles(FileCalls& calls, std::string folder, const PageLeases& leases);

  // Reads and verifies part `part` of a leased page into `to`, which is at a multiple of 4,096
  // bytes and has room for the part in whole blocks. Errors, after which the bytes of `to` are
  // unspecified: kDataCorrupt and kNotFound if the page must be computed again; kIo if the disk
  // failed.
  Status read(uint32_t lease, size_t part, uint8_t* to);

 private:
  struct File {
    OwnedFd fd;
    bool direct;  // the system's cache is left out
  };
  struct Freed {
    void operator()(uint8_t* memory) const;
  };

  Result<const File*> open(int64_t number, bool direct);
  Result<uint64_t> read_blocks(const LeasedPage& page, uint64_t offset, uint8_t* to,
                               uint64_t bytes);

  FileCalls& calls_;
  const std::string folder_;
  const PageLeases& leases_;
  std::map<int64_t, std::unique_ptr<File>> files_;  // open ones, by number
  std::unique_ptr<uint8_t, Freed> frame_;           // a compressed part; made when first needed
  size_t frame_bytes_ = 0;
};

}  // namespace cascade
