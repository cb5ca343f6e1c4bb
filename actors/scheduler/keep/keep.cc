// The callbacks of the rooms lead to the rooms after them.
#include "actors/scheduler/keep/keep.h"

#include <cstdint>
#include <optional>
#include <utility>

#include "actors/scheduler/store_work.h"

namespace cascade {

Keep::Keep(const KeepOptions& options, const Model& model, const Clock& clock, Outbox& outbox,
           ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
           const RequestTable& requests, Erasures& erasures, MetadataWriter& metadata,
           StoredPages& stored, PageWriter& writer, ChunkChains& chains, IdlePrefill& idle,
           ChunkRemovals::Callbacks callbacks)
    : text_pins(index, stored.disk()),
      uses(options.page_uses_max, outbox, index, tenants, registry, stored,
           [this](const ChunkEntry& entry, const ChunkUses::Use& use) {
             if (entry.chunk.pinned) pinned_texts.pin_use(entry, use);
           }),
      holds(options.holds, clock, outbox, index, options.pages, tenants, stored, uses, text_pins,
            {.held =
                 [this](ChunkEntry& entry) {
                   if (entry.chunk.pinned) pins.pin_held(entry);
                 },
             .pin_lost = [this](const ChunkEntry& entry) { pin_budget.wait(entry); }}),
      pin_budget(options.max_pinned, options.pages.count, index, tenants, stored, holds, text_pins,
                 idle, requests),
      pinned_texts(index, tenants, registry, stored, writer, chains, idle, uses, holds, pin_budget,
                   text_pins),
      pins(options.keeps_pages, clock, index, registry, stored, holds, pin_budget, pinned_texts,
           chains, idle, [this](ChunkEntry& entry) { reprefills.recompute(entry); }),
      lifecycle(index, tenants, registry, requests, stored, writer, uses, holds, pinned_texts,
                pins),
      pin_replies(
          options.keeps_pages, clock, outbox, metadata, registry, writer, holds, pins,
          {.publish = [this](ChunkEntry& entry,
                             bool is_public) { published.set_published(entry, is_public); },
           .remove = [this](ChunkEntry& entry) { removals.remove(entry, Removal::kExpired); }}),
      removals(options.keeps_pages, outbox, metadata, registry, tenants, requests, erasures, stored,
               writer, chains, idle, uses, text_pins, holds, pins, lifecycle, std::move(callbacks)),
      published(index, registry, erasures, writer, idle, holds, lifecycle, removals),
      reprefills(tenants, registry, metadata, chains, idle, uses, holds, pin_budget, pinned_texts,
                 lifecycle, published, removals),
      summaries(options.summaries, model, clock, outbox, tenants, registry, metadata, idle,
                lifecycle, removals) {}

PageWriter::Callbacks tell_of_writing(Keep& keep, ChunkChains& chains) {
  return {
      .is_awaited = [&](const StoredName& chunk) { return keep.pin_replies.is_awaited(chunk); },
      .uses_of = [&](const NamedPage& page) { return keep.uses.of(page); },
      .written = [&](const Digest& end) { chains.note_written(end); },
      .chains_ended = [&] { keep.pin_replies.answer(); },
      .failed =
          [&](const Error& error, const std::optional<StoredName>& chunk) {
            keep.pin_replies.refuse(error, chunk);
          },
      .ended =
          [&](const Writing& writing) {
            keep.lifecycle.writing_ended(writing);
            for (const StoredName& chunk : writing.erased) keep.removals.end_piece(chunk);
          },
  };
}

ChunkChains::IsRead tell_of_chains(Keep& keep) {
  return [&](const ChainWanted& wanted, wire::StoredChain&& chain) {
    if (wanted.removed) {
      const int64_t begin = chain.begin >= 0 ? chain.begin : wanted.begin;
      return keep.removals.end_piece(wanted.name,
                                     {{std::move(chain.token_ids), static_cast<size_t>(begin)}});
    }
    if (wanted.text_end) return keep.pinned_texts.text_is_read(wanted, std::move(chain));
    keep.pins.chain_is_read(wanted, std::move(chain));
  };
}

IdlePrefill::Callbacks tell_of_idle(Keep& keep) {
  return {
      .ended =
          [&](Reprefill&& idle, bool complete) {
            if (idle.draft) return keep.summaries.ended(std::move(idle), complete);
            keep.reprefills.ended(std::move(idle), complete);
          },
      .lost = [&](IdlePrefill::Tokenizing&& jobs) { keep.reprefills.lost(std::move(jobs)); },
  };
}

MetadataWriter::RowRemoved tell_of_rows(Keep& keep) {
  return [&](const StoredName& name, const std::optional<Error>& error) {
    keep.removals.row_is_removed(name, error);
  };
}

StoredPages::Removed tell_of_removed_pages(Keep& keep) {
  return [&](const std::optional<StoredName>& erased, const std::optional<Error>& error) {
    keep.removals.pages_are_removed(erased, error);
  };
}

}  // namespace cascade
