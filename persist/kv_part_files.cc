// One read for each part: its blocks lie one after the other.
#include "persist/kv_part_files.h"

#include <fcntl.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "base/check.h"
#include "base/checked.h"
#include "persist/kv_file.h"
#include "persist/kv_record.h"

namespace cascade {
namespace {

// The most files that are open at once. A file has some hundred pages.
constexpr size_t kOpenFilesMax = 64;

}  // namespace

void KvPartFiles::Freed::operator()(uint8_t* memory) const {
  std::free(memory);
}

KvPartFiles::KvPartFiles(FileCalls& calls, std::string folder, const PageLeases& leases)
    : calls_(calls), folder_(std::move(folder)), leases_(leases) {}

Result<const KvPartFiles::File*> KvPartFiles::open(int64_t number, bool direct) {
  const auto known = files_.find(number);
  if (known != files_.end() && (direct || !known->second->direct)) return known->second.get();
  files_.erase(number);
  if (files_.size() >= kOpenFilesMax) files_.clear();
  const std::string path = kv_file_path(folder_, number);
  constexpr int kFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY;
  int fd = direct ? calls_.open(path, kFlags | O_DIRECT) : -1;
  const bool is_direct = fd >= 0;
  // Some file systems, those in memory among them, cannot leave out the cache.
  if (!is_direct && (!direct || errno == EINVAL)) fd = calls_.open(path, kFlags);
  if (fd < 0) return io_error(path, errno);
  auto file = std::unique_ptr<File>(new File{{calls_, fd}, is_direct});
  return (files_[number] = std::move(file)).get();
}

// Returns how many bytes were read, fewer only where the file ends.
Result<uint64_t> KvPartFiles::read_blocks(const LeasedPage& page, uint64_t offset, uint8_t* to,
                                          uint64_t bytes) {
  const std::string path = kv_file_path(folder_, page.file);
  ASSIGN_OR_RETURN(const File* file, open(page.file, /*direct=*/true));
  auto read = read_parts_fully(calls_, file->fd.fd(), {{to, bytes}}, offset, path);
  if (read.ok() || !file->direct || errno != EINVAL) return read;
  ASSIGN_OR_RETURN(file, open(page.file, /*direct=*/false));
  return read_parts_fully(calls_, file->fd.fd(), {{to, bytes}}, offset, path);
}

Status KvPartFiles::read(uint32_t lease, size_t part, uint8_t* to) {
  const std::shared_ptr<const LeasedPage> page = leases_.find(lease);
  if (page == nullptr) return not_found("page", "is not leased");
  CHECK(part < page->parts.size());
  uint64_t offset = page->offset;
  for (size_t i = 0; i < part; ++i) {
    offset += round_up(uint64_t{page->parts[i].bytes}, uint64_t{kKvBlockBytes});
  }
  const KvPart& stored = page->parts[part];
  const uint64_t bytes = round_up(uint64_t{stored.bytes}, uint64_t{kKvBlockBytes});
  const bool compressed = stored.bytes < page->part_bytes;
  if (compressed && frame_bytes_ < bytes) {
    frame_.reset(static_cast<uint8_t*>(std::aligned_alloc(kKvBlockBytes, bytes)));
    CHECK(frame_ != nullptr);
    frame_bytes_ = bytes;
  }
  uint8_t* const frame = compressed ? frame_.get() : to;
  ASSIGN_OR_RETURN(const uint64_t read, read_blocks(*page, offset, frame, bytes));
  const bool good = read == bytes && kv_checksum({frame, stored.bytes}) == stored.checksum &&
                    (!compressed || unpack_part(stored, page->part_bytes, frame, to));
  if (good) return {};
  return damaged_page({page->file, page->offset - kKvBlockBytes, 0},
                      "has a damaged part " + std::to_string(part));
}

}  // namespace cascade
