// The holds of chunks and, for a while, of prompts: the index evicts their pages last, by priority.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/keep/text_pins.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"

namespace cascade {

struct HoldLimits {
  double memory_ratio;  // share of the pool's pages that holds may keep
  int leases_max;
};

// The pages of the pool, and what one takes.
struct PageSizes {
  size_t count;
  size_t bytes;       // in memory, with its index
  size_t disk_bytes;  // on disk
};

// One thread. The index may evict the pages of a hold at any time: the hold is lost then, which
// refresh() notices.
class ChunkHolds {
 public:
  using Held = std::map<uint64_t, ChunkEntry*>;  // by sequence
  struct Callbacks {
    // The chunk has a hold from now on, which may be pinned.
    std::function<void(ChunkEntry&)> held;
    // The hold of a pinned chunk was lost; its chain is known.
    std::function<void(const ChunkEntry&)> pin_lost;
  };

  // The references outlive this, and so do entries until they are cleared.
  ChunkHolds(const HoldLimits& limits, const Clock& clock, Outbox& outbox, ChainIndex& index,
             const PageSizes& pages, Tenants& tenants, const StoredPages& stored, TextUses& uses,
             const TextPins& text_pins, Callbacks callbacks);

  // Holds the chunk's chain, if all of it is in pages, with the chunk's priority.
  void take(ChunkEntry& entry);
  // Holds the chain's pages for every tenant in the same way. False if not all of them are in
  // memory.
  bool take_public(ChunkEntry& entry, std::span<const int32_t> chain);
  void clear(ChunkEntry& entry);
  void clear_public(ChunkEntry& entry);
  // Gives the chunk's pages the chunk's priority.
  void follow_priority(const ChunkEntry& entry);
  bool is_held(const ChunkEntry& entry) const { return entry.hold && index_.is_held(*entry.hold); }
  // Chunks with a hold. The hold may be lost already.
  const Held& held() const { return held_; }
  // Returns how many tokens of the chain, in whole pages, are also the beginning of a published
  // chunk.
  int64_t public_beginning(std::span<const int32_t> chain) const;

  // Updates what the chunk says of its K and V, since pages may have been evicted.
  void refresh(ChunkEntry& entry);
  // Does the same, and counts the chunk's pages in memory and on disk for clients.
  void measure(ChunkEntry& entry);
  // Returns the pages of the chunk's own chain and of every prompt that has its text, each page
  // once.
  PagesOfChunk pages_of(const ChunkEntry& entry) const;
  // Looks at some chunks after those of the last call, so that lost holds are reported soon.
  void look_for_evictions();

  // Gives the whole pages of the request's prompt the priority that it asks for, for a while. False
  // if it asks for none, or that is not possible.
  bool lease(const Request& request);
  void end_leases();
  void drop_leases_if(const std::function<bool(const Lease&)>& drops);

  // Drops holds until they keep no more than pages_max() pages: those of lowest priority first,
  // then those used longest ago. Their pages are ordinary ones from then on.
  void trim();
  int64_t pages_max() const;
  void set_memory_ratio(double ratio) { limits_.memory_ratio = ratio; }

 private:
  HoldLimits limits_;
  const Clock& clock_;
  Outbox& outbox_;
  ChainIndex& index_;
  const PageSizes pages_;
  Tenants& tenants_;
  const StoredPages& stored_;
  TextUses& uses_;
  const TextPins& text_pins_;
  const Callbacks callbacks_;
  Held held_;
  Held public_;
  uint64_t evictions_seen_ = 0;           // the sequence that look_for_evictions() has come to
  std::multimap<int64_t, Lease> leases_;  // by the monotonic time of their end
};

}  // namespace cascade
