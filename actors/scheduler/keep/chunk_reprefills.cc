// A chain that is complete is in the index, where the chunk holds it.
#include "actors/scheduler/keep/chunk_reprefills.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

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
  again.attention = entry.attention.exact();
  queue(entry, std::move(again));
}

void ChunkReprefills::tokenized(Reprefill&& next, wire::EncodeDone&& done) {
  const auto found = registry_.find_own(next.tenant, next.chunk_id);
  if (next.shorter) {
    if (!found.ok()) return removals_.end_piece({next.tenant, next.chunk_id});
    return take_shorter(std::move(next), std::move(done));
  }
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
  take_history(entry, std::move(next));
}

// Has a history computed that no chunk holds: the session's next turn finds it in memory.
void ChunkReprefills::take_shorter(Reprefill&& next, wire::EncodeDone&& done) {
  const bool is_wanted = !done.error && next.shorter->left_out != LeftOut();
  if (!is_wanted || idle_.is_full() || done.token_ids.empty()) return;
  next.chain = std::move(done.token_ids);
  // If the output is removed, its answer is, and no more.
  next.sampled_chain = next.chain;
  const auto answer = static_cast<size_t>(next.shorter->answer_tokens);
  next.prompt_tokens = next.chain.size() - std::min(next.chain.size(), answer);
  idle_.push(std::move(next));
}

void ChunkReprefills::take_history(ChunkEntry& entry, Reprefill&& next) {
  if (approximation_of(entry.chunk.think_policy) == Approximation::kNone) {
    queue(entry, std::move(next));
  } else {
    remove_thoughts(entry, std::move(next));
  }
}

// Has the K and V of the answer moved to where it stands without thoughts. If no thought was left
// out, the chain that was sampled is the history; if the answer is not found again after a thought,
// the history is prefilled.
void ChunkReprefills::remove_thoughts(ChunkEntry& entry, Reprefill&& next) {
  const AttentionMode sampled = std::exchange(next.attention, next.attention.exact());
  const std::vector<TokenRun> runs = runs_after_thoughts(
      {next.sampled_chain, next.prompt_tokens, entry.chunk.think_spans, next.think_end},
      next.chain);
  const size_t shared = common_prefix(next.sampled_chain, next.chain);
  const bool is_history = shared == std::min(next.sampled_chain.size(), next.chain.size());
  const bool needs_removal = !runs.empty() || (sampled.is_approximate() && is_history);
  // The same output may have come before, and be exact by now.
  const bool is_exact =
      entry.attention == next.attention && entry.chain == next.chain && holds_.is_held(entry);
  if (!needs_removal || is_exact) return queue(entry, std::move(next));
  // A pin holds what outlives the daemon.
  next.heals = next.heals || entry.chunk.pinned;
  chains_.store(entry, next.attention, next.chain, std::min(shared, next.prompt_tokens),
                /*pending=*/next.heals);
  next.removal = {.sampled = sampled, .runs = runs, .history = next.chain};
  next.attention.approximation = approximation_of(entry.chunk.think_policy);
  next.chain.resize(runs.empty() ? shared : static_cast<size_t>(runs.back().end));
  queue(entry, std::move(next));
}

// The approximate chain is in memory if it is `complete`; otherwise the history is prefilled.
void ChunkReprefills::thoughts_removed(ChunkEntry& entry, Reprefill&& idle, bool complete) {
  Reprefill exact;
  exact.tenant = idle.tenant;
  exact.chunk_id = idle.chunk_id;
  exact.attention = idle.attention.exact();
  exact.prompt_tokens = entry.own_begin;
  exact.chain = exact.sampled_chain = std::move(idle.removal->history);
  if (!complete) return queue(entry, std::move(exact));
  const auto shared = static_cast<int64_t>(common_prefix(idle.sampled_chain, idle.chain));
  lifecycle_.forget({tenants_.id(idle.tenant, idle.removal->sampled), idle.sampled_chain, shared,
                     Removal::kDead, ForgetScope::kUnreachable});
  published_.compute(entry);
  if (idle.heals && !idle_.is_full()) idle_.push(std::move(exact));
}

// The exact chain takes the place of the approximate one.
void ChunkReprefills::take_healed(ChunkEntry& entry, const Reprefill& healed) {
  const TenantId approximate = tenants_.id(entry.chunk.tenant, entry.attention);
  holds_.clear(entry);
  if (entry.chain != healed.chain) lifecycle_.withdraw(entry, Removal::kDead);
  const std::vector<int32_t> chain = std::exchange(entry.chain, healed.chain);
  entry.attention = healed.attention;
  chains_.store(entry, entry.chain, entry.own_begin, /*pending=*/true);
  lifecycle_.forget({approximate, chain, 0, Removal::kDead, ForgetScope::kUnreachable});
}

void ChunkReprefills::lost(IdlePrefill::Tokenizing&& jobs) {
  for (const auto& [number, lost] : jobs) {
    const auto found = registry_.find_own(lost.tenant, lost.chunk_id);
    if (!found.ok()) {
      removals_.end_piece({lost.tenant, lost.chunk_id});
      continue;
    }
    if (lost.shorter || lost.draft) continue;
    (*found)->chunk.kv_state = KvState::kNone;
    if ((*found)->chunk.pinned) pin_budget_.promise(**found, 0);
    metadata_.put((*found)->chunk);
  }
}

// Notes where the chain has texts of chunks, so that it is forgotten with them.
void ChunkReprefills::note_texts(const ChunkEntry& entry, const Reprefill& computed) {
  std::vector<std::string> ids = entry.chunk.parent_ids;
  ids.push_back(entry.chunk.id);
  const std::vector<std::string>& summaries = computed.shorter->summaries;
  ids.insert(ids.end(), summaries.begin(), summaries.end());
  uses_.note(tenants_.id(computed.tenant, computed.attention), computed.chain,
             uses_.find(computed.tenant, ids, computed.chain));
}

void ChunkReprefills::ended(Reprefill&& idle, bool complete) {
  if (idle.for_all) return published_.computed(idle, complete);
  const auto found = registry_.find_own(idle.tenant, idle.chunk_id);
  // The chunk was deleted in the meantime: what was computed is removed, too.
  if (!found.ok()) return removals_.end_piece({idle.tenant, idle.chunk_id});
  ChunkEntry& entry = **found;
  if (idle.text_end) return pinned_texts_.text_is_computed(entry, idle, complete);
  if (idle.shorter) return note_texts(entry, idle);
  const bool is_approximate = idle.attention.is_approximate();
  if (!is_approximate && entry.attention.is_approximate()) {
    if (!complete) return;  // the approximate chain stays
    take_healed(entry, idle);
  }
  if (complete) {
    // The chain's last page is not the one that the request had: the texts are noted again.
    std::vector<std::string> ids = entry.chunk.parent_ids;
    const auto& summarised = entry.chunk.generation.summarised;
    if (summarised) {
      ids.insert(ids.end(), summarised->chunk_ids.begin(), summarised->chunk_ids.end());
    }
    uses_.note(tenants_.id(idle.tenant, idle.attention), idle.chain,
               uses_.find(idle.tenant, ids, idle.chain));
    // If nothing had to be moved, all of the chain is exact.
    entry.attention = idle.attention.exact();
    holds_.take(entry);
    if (!entry.hold && is_approximate) {
      entry.attention = idle.attention;
      holds_.take(entry);
    }
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
  if (is_approximate) return thoughts_removed(entry, std::move(idle), complete);
  if (complete) {
    const auto shared = static_cast<int64_t>(common_prefix(idle.sampled_chain, idle.chain));
    lifecycle_.forget({tenants_.id(idle.tenant, idle.attention), idle.sampled_chain, shared,
                       Removal::kDead, ForgetScope::kUnreachable});
    published_.compute(entry);
  }
}

}  // namespace cascade
