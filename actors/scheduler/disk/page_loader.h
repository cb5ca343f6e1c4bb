// Reads pages from disk instead of computing them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/store_work.h"
#include "cache/chain_index.h"
#include "cache/chain_sequence.h"
#include "cache/chunk_registry.h"
#include "cache/disk_index.h"
#include "cache/planner.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Nobody else uses the memory that the store reads into.
class PageLoader {
 public:
  // The K and V of `tokens`, the next ones of the load, are in its pages. With `more`, a part of
  // the load is left: it goes on if this function returns true. Without `more` the load has ended,
  // with all pages or because one could not be read.
  using Loaded = std::function<bool(uint64_t handle, std::span<const int32_t> tokens, bool more)>;

  // `page_bytes` is the size of one page. `speed` says how long computing takes. The references
  // outlive this.
  PageLoader(Jobs& jobs, Outbox& outbox, const ChainIndex& index, StoredPages& stored,
             size_t page_bytes, const SpeedEstimate& speed, Loaded loaded);

  // Finds the pages on disk that come after `found`, the whole pages of `wanted` in memory. Finds
  // nothing if computing them is quicker than reading them.
  DiskIndex::Match worth_loading(TenantId owner, std::span<const int32_t> wanted,
                                 const ChainIndex::Match& found) const;
  // Whether reading `pages` pages and `other_bytes` takes less time than computing `tokens` tokens,
  // by measured speeds.
  bool is_quicker(size_t pages, size_t other_bytes, int64_t tokens) const;
  // Reads `stored`, the next part of `wanted`, into pages of the sequence. loaded() is given
  // `handle`. False if there is nothing to read, or no room.
  bool start(ChainSequence& sequence, uint64_t handle, std::span<const int32_t> wanted,
             const DiskIndex::Match& stored);
  // Reads the pages `keys`, which hold `tokens`, into `pages`. loaded() is given `handle`.
  void read(uint64_t handle, std::vector<Digest> keys, std::span<const int32_t> tokens,
            std::span<const PageIndex> pages);
  // Has the operating system read those parts of the used chunks' chains that are not in memory,
  // since they will be wanted soon.
  void prefetch(const std::vector<const ChunkEntry*>& used);
  void on(const wire::LoadPagesDone& done);

  size_t page_bytes() const { return page_bytes_; }
  // The recent speed of the disk; 0: nothing was read yet.
  double bytes_per_us() const { return bytes_per_us_; }
  // Notes how long reading so many bytes took.
  void note_speed(size_t bytes, int64_t us);

 private:
  struct Load {
    uint64_t handle;
    std::vector<Digest> keys;      // of all pages
    std::vector<int32_t> tokens;   // that these pages hold
    std::vector<PageIndex> pages;  // where they are read to
    size_t done = 0;               // pages that are in memory
    size_t asked = 0;              // further pages that the store was asked for
  };
  void ask(Load&& load);
  void note_loaded(Load&& load, size_t good);

  Jobs& jobs_;
  Outbox& outbox_;
  const ChainIndex& index_;
  StoredPages& stored_;
  const size_t page_bytes_;
  const SpeedEstimate& speed_;
  const Loaded loaded_;
  PendingJobs<Load> loads_;
  double bytes_per_us_ = 0;
};

}  // namespace cascade
