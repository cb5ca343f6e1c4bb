// A chain that is complete is in the index, where the chunk holds it.
#include "actors/scheduler/keep/chunk_reprefills.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "actors/scheduler/chunk_settings.h"
#include "actors/scheduler/store_work.h"
#include "cache/chain_index.h"

namespace cascade {

ChunkReprefills::ChunkReprefills(Tenants& tenants, ChunkRegistry& registry,
                                 MetadataWriter& metadata, ChunkChains& chains, IdlePrefill& idle,
                                 TextUses& uses, ChunkHolds& holds, PinBudget& pin_budget,
                                 PinnedTexts& pinned_texts, PageLifecycle& lifecycle,
                                 PublishedPages& published, ChunkRemovals& removals)
    : tenants_(tenants),
      registry_(registry),
      metadata_(metadata),
      chains_(chains),
      idle_(idle),
      uses_(uses),
      holds_(holds),
      pin_budget_(pin_budget),
      pinned_texts_(pinned_texts),
      lifecycle_(lifecycle),
      published_(published),
      removals_(removals) {}

void ChunkReprefills::queue(ChunkEntry& entry, Reprefill&& reprefill) {
  // If the same output came again, its chain is there already, or is replaced by the newer one.
  const bool is_same = entry.chain == reprefill.chain && entry.attention == reprefill.attention;
  if (is_same && holds_.is_held(entry)) {
    entry.chunk.kv_state = KvState::kReady;
    chains_.keep(entry);
    return metadata_.put(entry.chunk);
  }
  holds_.clear(entry);
  entry.attention = reprefill.attention;
  if (entry.chunk.pinned) {
    pin_budget_.promise(entry, pin_budget_.pages_of_chain(entry, reprefill.chain.size()));
  }
  // A pin is a promise: its chain waits for its turn, however many others wait.
  const bool full = !entry.chunk.pinned && idle_.is_full();
  if (full || reprefill.chain.empty()) {
    entry.chunk.kv_state = KvState::kNone;
    return metadata_.put(entry.chunk);
  }
  if (entry.chain != reprefill.chain) lifecycle_.withdraw(entry, Removal::kDead);
  entry.chain = reprefill.chain;
  const size_t shared = common_prefix(reprefill.sampled_chain, reprefill.chain);
  entry.own_begin = std::min(shared, reprefill.prompt_tokens);
  entry.chunk.kv_state = KvState::kPending;
  chains_.store(entry, entry.chain, entry.own_begin, /*pending=*/true);
  idle_.push(std::move(reprefill));
}

void ChunkReprefills::recompute(ChunkEntry& entry) {
  Reprefill again;
  again.tenant = entry.chunk.tenant;
  again.chunk_id = entry.chunk.id;
  again.chain = again.sampled_chain = entry.chain;
  again.prompt_tokens = entry.own_begin;
  again.attention = entry.attention;
  queue(entry, std::move(again));
}

void ChunkReprefills::tokenized(Reprefill&& next, wire::EncodeDone&& done) {
  const auto found = registry_.find_own(next.tenant, next.chunk_id);
  if (!found.ok()) {  // deleted in the meantime
    return removals_.end_piece({next.tenant, next.chunk_id},
                               {{std::move(done.token_ids), next.prompt_tokens}});
  }
  ChunkEntry& entry = **found;
  if (done.error) {
    spdlog::warn("the KV of {} is not kept: {}", next.chunk_id, done.error->to_string());
    entry.chunk.kv_state = KvState::kNone;
    if (entry.chunk.pinned) pin_budget_.promise(entry, 0);
    return metadata_.put(entry.chunk);
  }
  next.chain = std::move(done.token_ids);
  if (entry.chunk.think_policy == ThinkPolicy::kDrop) {
    if (entry.chunk.pinned) pin_budget_.promise(entry, 0);
    const auto shared = static_cast<int64_t>(common_prefix(next.sampled_chain, next.chain));
    return lifecycle_.forget({tenants_.id(next.tenant, next.attention), next.sampled_chain, shared,
                              Removal::kDead, ForgetScope::kUnreachable});
  }
  queue(entry, std::move(next));
}

void ChunkReprefills::lost(IdlePrefill::Tokenizing&& jobs) {
  for (const auto& [number, lost] : jobs) {
    const auto found = registry_.find_own(lost.tenant, lost.chunk_id);
    if (!found.ok()) {
      removals_.end_piece({lost.tenant, lost.chunk_id});
      continue;
    }
    (*found)->chunk.kv_state = KvState::kNone;
    if ((*found)->chunk.pinned) pin_budget_.promise(**found, 0);
    metadata_.put((*found)->chunk);
  }
}

void ChunkReprefills::ended(Reprefill&& idle, bool complete) {
  if (idle.for_all) return published_.computed(idle, complete);
  const auto found = registry_.find_own(idle.tenant, idle.chunk_id);
  // The chunk was deleted in the meantime: what was computed is removed, too.
  if (!found.ok()) return removals_.end_piece({idle.tenant, idle.chunk_id});
  ChunkEntry& entry = **found;
  if (idle.text_end) return pinned_texts_.text_is_computed(entry, idle, complete);
  if (complete) {
    // The chain's last page is not the one that the request had: the texts are noted again.
    uses_.note(tenants_.id(idle.tenant, idle.attention), idle.chain,
               uses_.find(idle.tenant, entry.chunk.parent_ids, idle.chain));
    holds_.take(entry);
    chains_.keep(entry);
  } else if (!entry.chunk.pinned) {
    chains_.settle({entry.chunk.tenant, entry.chunk.id});
  }
  // ChunkPins::heal() tries a pinned chunk again.
  entry.chunk.kv_state = entry.hold           ? KvState::kReady
                         : entry.chunk.pinned ? KvState::kPending
                                              : KvState::kNone;
  holds_.refresh(entry);
  metadata_.put(entry.chunk);
  if (complete) {
    const auto shared = static_cast<int64_t>(common_prefix(idle.sampled_chain, idle.chain));
    lifecycle_.forget({tenants_.id(idle.tenant, idle.attention), idle.sampled_chain, shared,
                       Removal::kDead, ForgetScope::kUnreachable});
    published_.compute(entry);
  }
}

}  // namespace cascade
