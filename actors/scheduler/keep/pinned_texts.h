// Pins of texts, in whatever prompts these are. Contexts and queries have no chain of their own, so
// only these pins keep their K and V. The store has the K and V too, and a start brings them back.
#pragma once

#include <cstdint>

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/pin_budget.h"
#include "actors/scheduler/keep/text_pins.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "cache/chunk_uses.h"
#include "wire/messages.h"

namespace cascade {

// One thread. The chains of TextPins are brought into memory and to disk here.
class PinnedTexts {
 public:
  // The references outlive this.
  PinnedTexts(const ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
              const StoredPages& stored, PageWriter& writer, ChunkChains& chains, IdlePrefill& idle,
              TextUses& uses, ChunkHolds& holds, const PinBudget& budget, TextPins& pins);

  // The chunk is pinned: pins what is known of its text.
  void pin(const ChunkEntry& entry);
  // Pins the prompt up to the end of the text, which is in the page of `use`. Does nothing if the
  // page is not in memory.
  void pin_use(const ChunkEntry& entry, const ChunkUses::Use& use);
  void unpin(const ChunkEntry& entry);
  // Returns how many pages would be kept only by a pin of this chunk's text, and by no other pin,
  // as far as the places of the text are known.
  int64_t pages_wanted(const ChunkUses::ChunkName& chunk) const;

  // ChunkChains has read the tokens up to the page in which the text ends, or none if it could not.
  void text_is_read(const ChainWanted& wanted, wire::StoredChain&& chain);
  // A chain of the idle prefill has ended. It is in memory if it is `complete`; otherwise heal()
  // tries again.
  void text_is_computed(ChunkEntry& entry, const Reprefill& text, bool complete);
  // Tries again to bring chains into memory, and has the chains written that are not on disk.
  void heal();

  // Whether all that the pin keeps in memory of a chunk without a chain of its own is on disk.
  bool is_on_disk(const ChunkEntry& entry) const;
  // Has those parts of the chunk's chains written that are not on disk.
  void write(const ChunkEntry& entry);

 private:
  void expect(const ChunkEntry& entry, const ChunkUses::Use& use);
  void queue(const StoredName& chunk, const Digest& end, const TextPin& pin);
  void write(const ChunkEntry& entry, const Digest& end, const TextPin& pin);

  const ChainIndex& index_;
  Tenants& tenants_;
  ChunkRegistry& registry_;
  const StoredPages& stored_;
  PageWriter& writer_;
  ChunkChains& chains_;
  IdlePrefill& idle_;
  TextUses& uses_;
  ChunkHolds& holds_;
  const PinBudget& budget_;
  TextPins& pins_;
};

}  // namespace cascade
