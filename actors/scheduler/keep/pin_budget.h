// The pages that pins may keep from eviction, and how many of them are promised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/text_pins.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/tenants.h"
#include "base/result.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"

namespace cascade {

// One thread. While the K and V of a pin are not in memory, its pages are promised to it, so that
// no other pin takes their place.
class PinBudget {
 public:
  // `max_pinned`: a share of the pool's pages. The references outlive this.
  PinBudget(double max_pinned, size_t pool_pages, const ChainIndex& index, const Tenants& tenants,
            const StoredPages& stored, const ChunkHolds& holds, const TextPins& text_pins,
            const IdlePrefill& idle, const RequestTable& requests);

  void set_max_pinned(double share) { max_pinned_ = share; }
  int64_t pages_max() const;
  // Counts the pages promised to pinned chunks whose K and V are not in memory, to requests whose
  // output will be pinned, and to requests for a prefix.
  int64_t pages_promised() const;
  // Returns how many pages would be kept from eviction only by a pin of this chunk, and by no other
  // pin, as far as that is known before its K and V are in memory.
  int64_t pages_of(const ChunkEntry& entry) const;
  // Returns how many pages a pin would keep if the chunk's chain had `tokens` tokens.
  int64_t pages_of_chain(const ChunkEntry& entry, size_t tokens) const;
  // Checks that `pages` more pages may be pinned. Error: kResourceExhausted, with `field`.
  Status check(std::string_view field, int64_t pages) const;
  // Whether the chunk's held pages may be pinned. Promises to others do not count, because these
  // pages had been promised to this chunk.
  bool has_room_for_held(const ChunkEntry& entry) const;

  // The pinned chunk waits for its K and V, and `pages` pages are promised to it.
  void promise(const ChunkEntry& entry, int64_t pages) { waiting_[entry.sequence] = pages; }
  // The chunk waits with what is promised to it already, or without a promise.
  void wait(const ChunkEntry& entry) { waiting_.try_emplace(entry.sequence, 0); }
  // The chunk does not wait any more.
  void end_waiting(const ChunkEntry& entry) { waiting_.erase(entry.sequence); }
  bool is_waiting(const ChunkEntry& entry) const { return waiting_.contains(entry.sequence); }
  bool any_waiting() const { return !waiting_.empty(); }
  bool has_promise(const ChunkEntry& entry) const;

 private:
  double max_pinned_;
  const size_t pool_pages_;
  const ChainIndex& index_;
  const Tenants& tenants_;
  const StoredPages& stored_;
  const ChunkHolds& holds_;
  const TextPins& text_pins_;
  const IdlePrefill& idle_;
  const RequestTable& requests_;
  std::map<uint64_t, int64_t> waiting_;  // sequence -> promised pages
};

}  // namespace cascade
