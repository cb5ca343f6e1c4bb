// What every tenant finds of a published chunk: its chain once more, in pages that belong to
// nobody.
#pragma once

#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_removals.h"
#include "actors/scheduler/keep/page_lifecycle.h"
#include "actors/scheduler/request.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"

namespace cascade {

// One thread. Only system prompts, and outputs with the conversation before them, have public
// pages: what a context or a query comes after is different in each request.
class PublishedPages {
 public:
  // The references outlive this.
  PublishedPages(const ChainIndex& index, ChunkRegistry& registry, Erasures& erasures,
                 PageWriter& writer, IdlePrefill& idle, ChunkHolds& holds, PageLifecycle& lifecycle,
                 ChunkRemovals& removals);

  // Every tenant finds the chunk and its pages from now on, or no longer.
  void set_published(ChunkEntry& entry, bool published);
  // Has the chunk's chain computed for every tenant, when nothing else is to do, unless it is there
  // already or the chunk is not published. A chunk whose own chain is pending waits for that: its
  // end has this called again.
  void compute(ChunkEntry& entry);
  // The idle prefill of public pages has ended. They are in memory if it is `complete`.
  void computed(const Reprefill& reprefill, bool complete);

 private:
  const ChainIndex& index_;
  ChunkRegistry& registry_;
  Erasures& erasures_;
  PageWriter& writer_;
  IdlePrefill& idle_;
  ChunkHolds& holds_;
  PageLifecycle& lifecycle_;
  ChunkRemovals& removals_;
};

}  // namespace cascade
