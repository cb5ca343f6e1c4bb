// A sequence with more pages than memory has room for: the other pages lie in a file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/file_calls.h"
#include "base/result.h"
#include "cache/kv_view.h"
#include "cache/page_arena.h"
#include "kernels/packed_matrix.h"
#include "model/slice.h"

namespace cascade::bench {

// Dense attention reads all pages for each slice of tokens, one after the other. So the first pages
// stay in memory for good, and the slots that are left are for the pages in progress: keeping the
// latest pages instead would read every page again. If tokens select, the indexes of all pages are
// in memory. One thread; read() may be called by another one, while no other function runs.
class SpilledChain : public KvPartReader {
 public:
  // Memory for `memory_bytes` of pages and, if tokens may select, their indexes; the file, which
  // has no name, is in `folder`. A slice has up to `slice_tokens`. Errors: kInvalidArgument, field
  // "--kv-memory", if the memory is less than the indexes and the pages of a slice take; kIo, field
  // "--spill-dir".
  static Result<std::unique_ptr<SpilledChain>> create(const KvLayout& layout, int64_t pages,
                                                      uint64_t memory_bytes, int64_t slice_tokens,
                                                      const std::string& folder,
                                                      bool selects = false);
  // Use create().
  SpilledChain(const KvLayout& layout, PageArena arena, PageArena record, int64_t pages,
               int64_t working_slots, int fd, bool selects);

  // Brings the pages of tokens [begin, end) into memory, at most slice_tokens. Pages that make room
  // are written to the file, if they are not there yet. Errors: kIo.
  Status bring(int64_t begin, int64_t end);

  // The pages of the whole sequence; nullptr: the page is only in the file.
  KvPages pages() const { return pages_; }
  // As Slice::indexes.
  KvPages indexes() const { return indexes_; }
  // Reads parts or blocks, and compares them with their checksums. Errors: kIo, kDataCorrupt.
  Status read(int part, std::span<const int32_t> pages, uint8_t* to) override;
  Status read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) override;

  uint64_t bytes_read() const { return bytes_read_; }

 private:
  Status spill(int64_t page);
  Status read_all(std::span<const int32_t> numbers, size_t stride, uint8_t* to,
                  const std::function<Status(int32_t number, uint8_t* to)>& read_one);
  Status read_part(int part, int32_t page, uint8_t* to) const;
  Status read_block(int part, int32_t block, uint8_t* to) const;
  uint64_t offset(int64_t page, int part) const;

  const KvLayout layout_;
  PageArena arena_;
  OwnedFd file_;
  std::vector<uint8_t*> pages_;
  AlignedBytes index_memory_;
  std::vector<uint8_t*> indexes_;    // into index_memory_
  std::vector<int64_t> working_;     // the page in each working slot; -1: none
  int64_t next_slot_ = 0;            // of working_
  std::vector<uint64_t> checksums_;  // [pages, parts]
  std::vector<bool> spilled_;        // [pages]: in the file
  PageArena record_;                 // one: a page as it is in the file
  uint64_t bytes_read_ = 0;
};

}  // namespace cascade::bench
