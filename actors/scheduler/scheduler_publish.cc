// What every tenant finds of a published chunk: its chain once more, in pages that belong to
// nobody.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// Whether every tenant finds the chunk and its pages.
void SchedulerCore::set_published(ChunkEntry& entry, bool published) {
  registry_.publish(entry, published);
  if (published) {
    publish_pages(entry);
  } else {
    withdraw_pages(entry, Removal::kDeleted);
  }
}

// Computes the chain of a published chunk for every tenant, in idle time: that of a system prompt,
// and of an output with the conversation before it. What a context stands behind is each request's.
void SchedulerCore::publish_pages(ChunkEntry& entry) {
  if (!entry.chunk.published) return;
  if (entry.public_hold && index_.is_held(*entry.public_hold)) return;
  if (entry.chunk.kv_state == KvState::kPending) return;  // finish_idle() comes back here
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

void SchedulerCore::finish_public(const Reprefill& reprefill, bool complete) {
  const auto found = registry_.find_own(reprefill.tenant, reprefill.chunk_id);
  const bool wanted = found.ok() && (*found)->chunk.published;
  if (!wanted) {  // deleted or withdrawn in the meantime
    const StoredName name = {reprefill.tenant, reprefill.chunk_id};
    drop_public(reprefill.chain, holds_.public_beginning(reprefill.chain), Removal::kDeleted,
                erasures_.find(name) != nullptr ? &name : nullptr);
    return end_erasure_piece(name);
  }
  if (!complete) return;
  ChunkEntry& entry = **found;
  if (holds_.take_public(entry, reprefill.chain)) writer_.write_behind(kPublic, reprefill.chain);
  holds_.trim();
}

// Its pages go, and with them whatever tenants have computed behind them: nobody is to find in them
// what is not published any more. Chunks that stood on them are computed again, if they are pinned
// now, else when they are used.
void SchedulerCore::withdraw_pages(ChunkEntry& entry, Removal why, const StoredName* erased) {
  if (!entry.public_hold) return;
  holds_.clear_public(entry);
  drop_public(entry.chain, holds_.public_beginning(entry.chain), why, erased);
}

void SchedulerCore::drop_public(std::span<const int32_t> chain, int64_t keep, Removal why,
                                const StoredName* erased) {
  drop_stored(kPublic, chain, keep, erased);
  index_.drop_subtree(kPublic, chain, keep, why, /*holds=*/true);
  for (const auto& [handle, request] : requests_.all()) {
    if (!request->running()) continue;
    if (static_cast<int64_t>(common_prefix(request->in_pages(), chain)) <= keep) continue;
    add_branch_end(handle, {kPublic, keep, why});
  }
  std::vector<ChunkEntry*> pinned;
  for (const auto& [sequence, held] : holds_.held()) {
    if (held->chunk.pinned) pinned.push_back(held);
  }
  for (ChunkEntry* entry : pinned) pins_.promise_again(*entry);
}

}  // namespace cascade
