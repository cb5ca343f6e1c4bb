// The rooms that decide which pages are kept, wired to each other.
#pragma once

#include <cstddef>

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_pins.h"
#include "actors/scheduler/keep/chunk_removals.h"
#include "actors/scheduler/keep/chunk_reprefills.h"
#include "actors/scheduler/keep/page_lifecycle.h"
#include "actors/scheduler/keep/pin_budget.h"
#include "actors/scheduler/keep/pin_replies.h"
#include "actors/scheduler/keep/pinned_texts.h"
#include "actors/scheduler/keep/published_pages.h"
#include "actors/scheduler/keep/summaries.h"
#include "actors/scheduler/keep/text_pins.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"

namespace cascade {

struct KeepOptions {
  bool keeps_pages;  // the store keeps K and V
  PageSizes pages;
  size_t page_uses_max;  // how many uses of pages by texts are noted
  HoldLimits holds;
  double max_pinned;  // share of the pool's pages
  SummaryOptions summaries;
};

// One thread. Each room calls only those before it, and tells later ones through callbacks.
struct Keep {
  // The references outlive this.
  Keep(const KeepOptions& options, const Model& model, const Clock& clock, Outbox& outbox,
       ChainIndex& index, Tenants& tenants, ChunkRegistry& registry, const RequestTable& requests,
       Erasures& erasures, MetadataWriter& metadata, StoredPages& stored, PageWriter& writer,
       ChunkChains& chains, IdlePrefill& idle, ChunkRemovals::Callbacks callbacks);
  Keep(const Keep&) = delete;
  Keep& operator=(const Keep&) = delete;

  TextPins text_pins;
  TextUses uses;
  ChunkHolds holds;
  PinBudget pin_budget;
  PinnedTexts pinned_texts;
  ChunkPins pins;
  PageLifecycle lifecycle;
  PinReplies pin_replies;
  ChunkRemovals removals;
  PublishedPages published;
  ChunkReprefills reprefills;
  Summaries summaries;
};

// Callbacks for the rooms below. `keep` and `chains` must outlive the callbacks, and must be
// constructed by the time one is called.
PageWriter::Callbacks tell_of_writing(Keep& keep, ChunkChains& chains);
ChunkChains::IsRead tell_of_chains(Keep& keep);
IdlePrefill::Callbacks tell_of_idle(Keep& keep);
MetadataWriter::RowRemoved tell_of_rows(Keep& keep);
StoredPages::Removed tell_of_removed_pages(Keep& keep);

}  // namespace cascade
