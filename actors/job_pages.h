// The pages of one sequence in a job: addresses in memory, or leases of pages on disk.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "cache/kv_view.h"
#include "cache/page_arena.h"
#include "model/slice.h"
#include "persist/kv_part_files.h"

namespace cascade {

// One thread at a time; the forward pass calls the reading functions from any thread.
class JobPages : public KvPartReader {
 public:
  // Where the indexes of a job's pages are, and how many there are (wire::PrefillJob).
  struct Indexes {
    std::span<const uint32_t> memory;
    int64_t count = 0;
  };
  // `pages` and `indexes` are those of a job (wire/actor_messages.h). `files` reads leased pages;
  // nullptr: there are none. The references, `files`, and what the spans refer to outlive this.
  JobPages(const PageArena& arena, const KvLayout& layout, KvPartFiles* files,
           std::span<const uint32_t> pages, const Indexes& indexes);
  JobPages(const JobPages&) = delete;
  JobPages& operator=(const JobPages&) = delete;

  // As Slice::pages and Slice::absent.
  KvPages addresses() const { return addresses_; }
  KvPartReader* absent() { return leases_.empty() ? nullptr : this; }
  // As Slice::indexes.
  KvPages indexes() const { return indexes_; }

  // As Slice::indexed_pages, of this object; nullptr if indexes follow K and V of their pages, and
  // some page is not in memory. Call it once, before the forward pass.
  int64_t* indexed();
  // The same number as it is now; 0 without a call of indexed().
  int64_t indexed_pages() const { return indexed_; }

  // Notes the first page that cannot be read.
  Status read(int part, std::span<const int32_t> pages, uint8_t* to) override;
  Status read_blocks(int part, std::span<const int32_t> blocks, uint8_t* to) override;
  void waited(int64_t us) override { reading_.wait_us += us; }

  struct Reading {
    int64_t bytes = 0;
    int64_t read_us = 0;  // the time of all reads
    int64_t wait_us = 0;  // of that, the time in which nothing was computed
  };
  // What was read so far. No forward pass is in progress.
  const Reading& reading() const { return reading_; }

  // The page that could not be read and must be computed again; nullopt: there is none.
  std::optional<int32_t> lost_page() const { return lost_page_; }
  // Why the disk could not be read.
  const std::optional<Error>& error() const { return error_; }
  bool failed() const { return lost_page_ || error_; }

 private:
  template <class Read>
  Status read_all(int part, std::span<const Read> reads, std::span<const int32_t> pages,
                  uint64_t bytes);

  const PageArena& arena_;
  const KvLayout layout_;
  KvPartFiles* const files_;
  const std::span<const uint32_t> pages_;
  std::vector<uint8_t*> addresses_;
  std::vector<uint32_t> leases_;   // of pages that are not in memory; empty if all are
  std::vector<uint8_t*> indexes_;  // empty if indexes follow K and V
  int64_t indexed_ = 0;            // the number of first pages with an index
  Reading reading_;
  std::optional<int32_t> lost_page_;
  std::optional<Error> error_;
};

}  // namespace cascade
