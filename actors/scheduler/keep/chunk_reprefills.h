// The chains that chunks keep: an output's conversation in the form that later turns repeat,
// computed when nobody waits.
#pragma once

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_removals.h"
#include "actors/scheduler/keep/page_lifecycle.h"
#include "actors/scheduler/keep/pin_budget.h"
#include "actors/scheduler/keep/pinned_texts.h"
#include "actors/scheduler/keep/published_pages.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/tenants.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. A chunk's K and V are pending until its chain is computed and held. The chunk has
// none if the chain is given up. A pinned chunk whose chain could not be computed stays pending,
// and ChunkPins::heal() tries again.
class ChunkReprefills {
 public:
  // The references outlive this.
  ChunkReprefills(Tenants& tenants, ChunkRegistry& registry, MetadataWriter& metadata,
                  ChunkChains& chains, IdlePrefill& idle, TextUses& uses, ChunkHolds& holds,
                  PinBudget& pin_budget, PinnedTexts& pinned_texts, PageLifecycle& lifecycle,
                  PublishedPages& published, ChunkRemovals& removals);

  // Has the chain computed when there is nothing else to do; the chunk holds it from then on. If
  // too many chains wait, the chunk stays without K and V, unless it is pinned.
  void queue(ChunkEntry& entry, Reprefill&& reprefill);
  // The chunk's history is known: its chain is computed, or made of the sampled one, as the chunk's
  // think policy says.
  void take_history(ChunkEntry& entry, Reprefill&& next);
  // Has the chunk's chain computed again, which is known and not in memory.
  void recompute(ChunkEntry& entry);

  // The prefill actor has tokenized the conversation for `next`, or has failed to.
  void tokenized(Reprefill&& next, wire::EncodeDone&& done);
  // The prefill actor was restarted: it will tokenize none of these.
  void lost(IdlePrefill::Tokenizing&& jobs);
  // The first chain of the idle prefill has ended. It is in memory if it is `complete`.
  void ended(Reprefill&& idle, bool complete);

 private:
  void take_shorter(Reprefill&& next, wire::EncodeDone&& done);
  void note_texts(const ChunkEntry& entry, const Reprefill& computed);
  void remove_thoughts(ChunkEntry& entry, Reprefill&& next);
  void thoughts_removed(ChunkEntry& entry, Reprefill&& idle, bool complete);
  void take_healed(ChunkEntry& entry, const Reprefill& healed);

  Tenants& tenants_;
  ChunkRegistry& registry_;
  MetadataWriter& metadata_;
  ChunkChains& chains_;
  IdlePrefill& idle_;
  TextUses& uses_;
  ChunkHolds& holds_;
  PinBudget& pin_budget_;
  PinnedTexts& pinned_texts_;
  PageLifecycle& lifecycle_;
  PublishedPages& published_;
  ChunkRemovals& removals_;
};

}  // namespace cascade
