// Pins of chunks: they take effect when the chain is in memory, and they outlive the daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/pin_budget.h"
#include "actors/scheduler/keep/pinned_texts.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. A pinned chunk whose chain is not held waits: its pages are promised to it, and the
// chain is read or computed. If a known chain cannot be computed now, heal() tries again. The chain
// of a system prompt is tried again when the chunk is used.
class ChunkPins {
 public:
  // Has the chunk's chain, which is known, computed when there is nothing else to do.
  using Compute = std::function<void(ChunkEntry&)>;

  // With `keeps_pages` false pins do not outlive the daemon. The references outlive this.
  ChunkPins(bool keeps_pages, const Clock& clock, ChainIndex& index, ChunkRegistry& registry,
            const StoredPages& stored, ChunkHolds& holds, PinBudget& budget, PinnedTexts& texts,
            ChunkChains& chains, IdlePrefill& idle, Compute compute);

  // Notes that all chunks of the store are known. From now on, chains of outputs can be asked for.
  void note_loaded() { loaded_ = true; }
  // The chunk's holders have changed: its pages get the priority and the pin that follow from them.
  void follow_holders(ChunkEntry& entry);
  // The chunk is pinned: pins its chain and what is known of its text.
  void pin(ChunkEntry& entry);
  // Pins the pinned chunk's chain if it is held; otherwise the pin waits for the chain.
  void pin_or_wait(ChunkEntry& entry);
  // The pinned chunk has a hold now. If the budget has no room for it, its pages can be evicted.
  void pin_held(ChunkEntry& entry);
  // The pinned chunk's hold may be lost. If it is, its pages are promised again until heal() has
  // them computed.
  void promise_again(ChunkEntry& entry);
  // The chunk is being removed.
  void release(const ChunkEntry& entry);

  // ChunkChains has read the chain of a pinned chunk from before the start. It has no tokens if the
  // store does not know them.
  void chain_is_read(const ChainWanted& wanted, wire::StoredChain&& chain);
  // Pins held chunks for which there was no room.
  void retry();
  // Works every two seconds, however often it is called. Begins to compute chains of pins that
  // could not be computed before because there was no room or an actor failed. Begins to write
  // those that are not on disk because another pin took their place there or the disk failed.
  void heal();
  // If the chain of a pinned output is not known any more, has it computed again from the request's
  // messages, which say what the output was made of.
  void heal_from(const Request& request);

  // Whether everything that the chunk's pin keeps in memory is also on disk.
  bool is_on_disk(const ChunkEntry& entry) const;
  // Has the parts written that the disk does not have.
  void write(ChunkEntry& entry);
  // The number of pinned chunks whose pages can be evicted, because there is no room to pin them.
  size_t without_room() const { return without_room_.size(); }

 private:
  bool is_chain_on_disk(const ChunkEntry& entry) const;
  void unpin(const ChunkEntry& entry);

  const bool keeps_pages_;
  const Clock& clock_;
  ChainIndex& index_;
  ChunkRegistry& registry_;
  const StoredPages& stored_;
  ChunkHolds& holds_;
  PinBudget& budget_;
  PinnedTexts& texts_;
  ChunkChains& chains_;
  IdlePrefill& idle_;
  const Compute compute_;
  bool loaded_ = false;
  std::set<uint64_t> without_room_;  // sequences of held chunks
  int64_t healed_us_ = 0;            // when heal() looked last
};

}  // namespace cascade
