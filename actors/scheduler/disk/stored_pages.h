// The pages that the store has, by their names on disk, and how they are removed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/store_work.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/disk_index.h"
#include "wire/messages.h"

namespace cascade {

struct DiskCounters {
  int64_t pages_written = 0, pages_loaded = 0, pages_bad = 0, pages_removed = 0;
};

// One thread. A page that is removed cannot be found from that moment on. The store removes it
// soon; a removal that fails is tried again. A function that takes `erased` works for the removal
// of that chunk: this removal (see `Erasures`) has one piece more until the store has answered.
class StoredPages {
 public:
  // Whether something other than a chunk's chain ends with the page.
  using IsKept = std::function<bool(const Digest&)>;
  // The store has answered a removal of pages, which the removal of the chunk `erased` waited for.
  using Removed = std::function<void(const std::optional<StoredName>& erased,
                                     const std::optional<Error>& error)>;

  // The first four outlive this.
  StoredPages(ChainIndex& index, Erasures& erasures, Jobs& jobs, Outbox& outbox, IsKept is_kept,
              Removed removed);

  const DiskIndex& disk() const { return disk_; }
  const DiskCounters& counters() const { return counters_; }

  // Takes over what an earlier daemon has stored.
  void load(const wire::StoredPages& stored);
  // The store has written the page.
  void add(const Digest& key, const Digest& parent, int32_t tokens);
  void count_loaded(int64_t pages) { counters_.pages_loaded += pages; }
  // A page that was to be read was damaged.
  void count_bad() { ++counters_.pages_bad; }
  // Whether the store has pages of another model whose prompts begin like this.
  bool is_of_other_model(const Digest& beginning) const {
    return of_other_models_.contains(beginning);
  }

  // From now on a chunk's chain ends with the page `after`, and no longer with `before`. nullopt
  // stands for no page.
  void move_chain_end(const std::optional<Digest>& before, const std::optional<Digest>& after);

  // Returns the keys of all pages of the chain, wherever the pages are: in memory, on disk, or
  // nowhere. The keys go on after a page that was evicted from the disk, since later pages may be
  // left.
  std::vector<Digest> path_of(TenantId owner, std::span<const int32_t> chain) const;

  // How many of the chain's tokens after the page or root `node` are on disk.
  int64_t tokens_after(const ChainIndex::Node* node, TenantId owner,
                       std::span<const int32_t> chain) const;

  // The store does not have the page any more, so nobody can read it under a lease.
  void note_gone(const Digest& key);
  // Removes the page and all pages that go on from it and belong to no chunk.
  void remove_from(const Digest& key, const StoredName* erased = nullptr);
  // Removes a page whose bytes are damaged. Pages that go on from it stay: it is computed again.
  void remove_damaged(const Digest& key);
  // Removes pages of the path, beginning at its end. Stops at the first page that something else
  // needs.
  void remove_unshared(const std::vector<Digest>& path, const StoredName* erased = nullptr);
  // False: `ack` is the answer to somebody else's job.
  bool on(const wire::StoreAck& ack);
  // Removes again the pages that the store could not remove and no chunk's removal waits for.
  void retry();
  // Removes again the pages that the chunk's removal waits for.
  void retry(const StoredName& erased);

 private:
  struct Removing {
    std::vector<std::string> keys;
    std::optional<StoredName> erased;
  };
  void send(std::vector<std::string>&& keys, const StoredName* erased);
  void lose(PendingJobs<Removing>::All&& lost);

  ChainIndex& index_;
  Erasures& erasures_;
  Jobs& jobs_;
  Outbox& outbox_;
  const IsKept is_kept_;
  const Removed removed_;
  DiskIndex disk_;
  DiskCounters counters_;
  std::set<Digest> of_other_models_;  // beginnings of prompts
  std::map<Digest, int> chain_ends_;  // how many chunks' chains end with the page
  PendingJobs<Removing> removing_;
  // Pages that the store could not remove, by the chunk whose removal waits for them.
  std::map<std::optional<StoredName>, std::vector<std::string>> failed_;
};

}  // namespace cascade
