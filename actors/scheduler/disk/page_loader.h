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

// One thread. The store reads into the pages of a sequence, which stays as it is meanwhile.
class PageLoader {
 public:
  // The K and V of `tokens`, which come next in the sequence, are in its pages. With `more`, a part
  // of the load is left: the load goes on with the sequence that this function returns, or ends if
  // it returns nullptr. Without `more` the load has ended, with all pages or because one could not
  // be read.
  using Loaded = std::function<const ChainSequence*(uint64_t handle,
                                                    std::span<const int32_t> tokens, bool more)>;

  // `page_bytes` is the size of one page. `speed` says how long computing takes. The references
  // outlive this.
  PageLoader(Jobs& jobs, Outbox& outbox, const ChainIndex& index, StoredPages& stored,
             size_t page_bytes, const SpeedEstimate& speed, Loaded loaded);

  // Finds the pages on disk that come after `found`, the whole pages of `wanted` in memory. Finds
  // nothing if computing them is quicker than reading them.
  DiskIndex::Match worth_loading(TenantId owner, std::span<const int32_t> wanted,
                                 const ChainIndex::Match& found) const;
  // Reads `stored`, the next part of `wanted`, into pages of the sequence. loaded() is given
  // `handle`. False if there is nothing to read, or no room.
  bool start(ChainSequence& sequence, uint64_t handle, std::span<const int32_t> wanted,
             const DiskIndex::Match& stored);
  // Has the operating system read those parts of the used chunks' chains that are not in memory,
  // since they will be wanted soon.
  void prefetch(const std::vector<const ChunkEntry*>& used);
  void on(const wire::LoadPagesDone& done);

  // The recent speed of the disk; 0: nothing was read yet.
  double bytes_per_us() const { return bytes_per_us_; }

 private:
  struct Load {
    uint64_t handle;
    std::vector<Digest> keys;     // of all pages
    std::vector<int32_t> tokens;  // that these pages hold
    size_t done = 0;              // pages that are in memory
    size_t asked = 0;             // further pages that the store was asked for
  };
  void ask(Load&& load, const ChainSequence& sequence);
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
