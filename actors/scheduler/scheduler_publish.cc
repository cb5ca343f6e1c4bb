// What every tenant finds of a published chunk: its chain once more, in pages that belong to
// nobody.
#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// Whether every tenant finds the chunk and its pages.
void SchedulerCore::set_published(ChunkEntry& entry, bool published) {
  registry_.publish(entry, published);
  if (published) {
    publish_pages(entry);
  } else {
    keep_.lifecycle.withdraw(entry, Removal::kDeleted);
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
    keep_.lifecycle.forget_public(reprefill.chain, Removal::kDeleted,
                                  erasures_.find(name) != nullptr ? &name : nullptr);
    return keep_.removals.end_piece(name);
  }
  if (!complete) return;
  ChunkEntry& entry = **found;
  if (keep_.holds.take_public(entry, reprefill.chain))
    writer_.write_behind(kPublic, reprefill.chain);
  keep_.holds.trim();
}

}  // namespace cascade
