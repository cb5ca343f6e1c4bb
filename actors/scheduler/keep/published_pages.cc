// The public chain is computed in idle time, like the chunk's own.
#include "actors/scheduler/keep/published_pages.h"

#include <utility>

#include "actors/scheduler/store_work.h"

namespace cascade {

PublishedPages::PublishedPages(const ChainIndex& index, ChunkRegistry& registry, Erasures& erasures,
                               PageWriter& writer, IdlePrefill& idle, ChunkHolds& holds,
                               PageLifecycle& lifecycle, ChunkRemovals& removals)
    : index_(index),
      registry_(registry),
      erasures_(erasures),
      writer_(writer),
      idle_(idle),
      holds_(holds),
      lifecycle_(lifecycle),
      removals_(removals) {}

void PublishedPages::set_published(ChunkEntry& entry, bool published) {
  registry_.publish(entry, published);
  if (published) {
    compute(entry);
  } else {
    lifecycle_.withdraw(entry, Removal::kDeleted);
  }
}

void PublishedPages::compute(ChunkEntry& entry) {
  if (!entry.chunk.published) return;
  if (entry.public_hold && index_.is_held(*entry.public_hold)) return;
  if (entry.chunk.kv_state == KvState::kPending) return;
  if (entry.chain.empty()) {
    if (entry.chunk.type != ChunkType::kSystemPrompt) return;
    if (idle_.tokenize_prefix(entry.chunk)) entry.chunk.kv_state = KvState::kPending;
    return;
  }
  if (idle_.is_full()) return;
  Reprefill shared;
  shared.tenant = entry.chunk.tenant;
  shared.chunk_id = entry.chunk.id;
  shared.chain = shared.sampled_chain = entry.chain;
  shared.for_all = true;
  idle_.push(std::move(shared));
}

void PublishedPages::computed(const Reprefill& reprefill, bool complete) {
  const auto found = registry_.find_own(reprefill.tenant, reprefill.chunk_id);
  const bool wanted = found.ok() && (*found)->chunk.published;
  if (!wanted) {  // deleted or withdrawn in the meantime
    const StoredName name = {reprefill.tenant, reprefill.chunk_id};
    lifecycle_.forget_public(reprefill.chain, Removal::kDeleted,
                             erasures_.find(name) != nullptr ? &name : nullptr);
    return removals_.end_piece(name);
  }
  if (!complete) return;
  ChunkEntry& entry = **found;
  if (holds_.take_public(entry, reprefill.chain)) writer_.write_behind(kPublic, reprefill.chain);
  holds_.trim();
}

}  // namespace cascade
