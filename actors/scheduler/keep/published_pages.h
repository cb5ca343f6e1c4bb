// The public pages of published chunks: a chunk's chain once more, in pages that belong to nobody.
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
// pages: the text before a context or a query differs between requests.
class PublishedPages {
 public:
  // The references outlive this.
  PublishedPages(const ChainIndex& index, ChunkRegistry& registry, Erasures& erasures,
                 PageWriter& writer, IdlePrefill& idle, ChunkHolds& holds, PageLifecycle& lifecycle,
                 ChunkRemovals& removals);

  // Every tenant finds the chunk and its pages from now on, or no longer.
  void set_published(ChunkEntry& entry, bool published);
  // Has the chain of a published chunk computed for every tenant, when there is nothing else to do,
  // unless it is there already or too many chains wait. While the chunk's own chain is pending
  // nothing begins: ChunkReprefills calls this again when that chain is complete.
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
