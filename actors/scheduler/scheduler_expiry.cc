// What ends by itself: chunks whose time is over, priorities, leases; and what goes with a chunk.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// Chunks that are removed at a time: each takes microseconds, and requests wait for them. Those
// that are left are not found any more all the same.
constexpr size_t kRemovedAtOnceMax = 256;

}  // namespace

// Before any message is handled, and on each tick.
void SchedulerCore::pass_time() {
  registry_.set_time(clock_.wall_us());
  for (ChunkEntry* entry : registry_.expired(kRemovedAtOnceMax)) {
    remove_chunk(*entry, Removal::kExpired);
  }
  for (ChunkEntry* entry : registry_.priorities_over(kRemovedAtOnceMax)) {
    Chunk& chunk = entry->chunk;
    chunk.priority = default_priority(chunk.type);
    chunk.priority_until_us = 0;
    registry_.reschedule(*entry);
    follow_priority(*entry);
    store(chunk);
  }
  end_leases();
}

void SchedulerCore::end_leases() {
  const auto end = leases_.upper_bound(clock_.monotonic_us());
  for (auto it = leases_.begin(); it != end; ++it) index_.drop_hold(it->second.hold);
  leases_.erase(leases_.begin(), end);
}

// Returns the chunk as it was.
Chunk SchedulerCore::remove_chunk(ChunkEntry& entry, Removal why) {
  refresh(entry);
  Chunk chunk = entry.chunk;
  set_chain_end(entry, "");
  if (entry.chain.empty()) drop_stored_chunk(chunk, why);
  // What its conversations begin with is not known unless it was pinned.
  const bool unknown = chunk.type == ChunkType::kSystemPrompt && entry.chain.empty();
  forget_chain(entry, why);
  if (unknown) find_prefix(entry);
  forget_uses({chunk.tenant, chunk.id}, why);
  pins_waiting_.erase(entry.sequence);
  pins_without_room_.erase(entry.sequence);
  tell_of(chunk, why == Removal::kExpired ? EventKind::kChunkExpired : EventKind::kChunkDeleted);
  registry_.remove(entry, why);
  store_removal({chunk.tenant, chunk.id});
  return chunk;
}

// Lets go of the chunk's pages. Those that no other chunk needs are freed at once, or when the
// requests that use them end.
void SchedulerCore::forget_chain(ChunkEntry& entry, Removal why) {
  withdraw_pages(entry, why);
  clear_hold(entry);
  drop_reprefills(entry, why);
  end_branch(entry.chunk.tenant, entry.chain, entry.own_begin, why);
  drop_unshared(entry.chunk.tenant, entry.chain, why);
  entry.chain.clear();
}

// Frees the pages of `chain`, from its end, that nothing else goes on from: what was asked goes
// with the answer.
void SchedulerCore::drop_unshared(const std::string& tenant, std::span<const int32_t> chain,
                                  Removal why) {
  const TenantId owner = tenant_id(tenant);
  drop_stored_unshared(stored_path(owner, chain));
  index_.drop_branch(owner, chain, 0, why);
}

// What was to be computed for the chunk is not needed any more. The one that is being computed ends
// in finish_idle().
void SchedulerCore::drop_reprefills(const ChunkEntry& entry, Removal why) {
  const bool first_is_computed = (in_flight_ && in_flight_->idle) || idle_loading_;
  for (size_t i = first_is_computed ? 1 : 0; i < reprefills_.size();) {
    const auto at = reprefills_.begin() + static_cast<ptrdiff_t>(i);
    if (at->chunk_id != entry.chunk.id || at->tenant != entry.chunk.tenant) {
      ++i;
      continue;
    }
    const Reprefill dropped = std::move(*at);
    reprefills_.erase(at);
    if (dropped.sequence) dropped.sequence->finish(clock_.wall_us());
    if (dropped.for_all) {
      drop_public(dropped.chain, public_beginning(dropped.chain), why);
      continue;
    }
    const size_t shared = common_prefix(dropped.sampled_chain, dropped.chain);
    const size_t keep = std::min(shared, dropped.prompt_tokens);
    if (dropped.sequence) end_branch(dropped.tenant, dropped.sequence->tokens(), keep, why);
    end_branch(dropped.tenant, dropped.sampled_chain, keep, why);
  }
}

// Frees the pages of `chain` that have tokens behind its first `keep`, and what goes on from them
// and is not retained itself; those that running requests use, with what these add to them, when
// they end. The page that has tokens of both kinds goes too: what was deleted is not to be found
// any more.
void SchedulerCore::end_branch(const std::string& tenant, std::span<const int32_t> chain,
                               size_t keep, Removal why) {
  const auto kept = static_cast<int64_t>(keep / kPageTokens * kPageTokens);
  drop_stored(tenant_id(tenant), chain, kept);
  index_.drop_subtree(tenant_id(tenant), chain, kept, why);
  for (const auto* running : {&prefilling_, &decoding_}) {
    for (const uint64_t handle : *running) {
      const Request& request = *requests_.at(handle);
      if (request.client.tenant != tenant) continue;
      if (common_prefix(request.in_pages(), chain) <= keep) continue;
      add_branch_end(handle, {tenant_id(tenant), kept, why});
    }
  }
}

void SchedulerCore::add_branch_end(uint64_t handle, const BranchEnd& end) {
  const auto [it, added] = branch_ends_.try_emplace({handle, end.owner}, end);
  if (!added) it->second.keep = std::min(it->second.keep, end.keep);
}

void SchedulerCore::end_branch_of(const Request& request) {
  // A retained output has its own pages from here on.
  const bool retained =
      request.params.retain_output && !request.sampled.empty() && !request.client_gone;
  const auto own_ends = [&] {
    return std::pair(branch_ends_.lower_bound({request.handle, kPublic}),
                     branch_ends_.lower_bound({request.handle + 1, kPublic}));
  };
  const auto [begin, end] = own_ends();
  const std::map ends(begin, end);
  for (const auto& [key, branch] : ends) {
    if (!request.sequence) break;
    const std::span<const int32_t> tokens = request.sequence->tokens();
    if (branch.owner == kPublic) {
      // What it found of chunks that are published still stays.
      drop_public(tokens, std::max(branch.keep, public_beginning(tokens)), branch.why);
    } else if (!retained) {
      drop_stored(branch.owner, tokens, branch.keep);
      index_.drop_subtree(branch.owner, tokens, branch.keep, branch.why);
    }
  }
  if (!retained) drop_gone_texts(request);
  // Also those that drop_public() added: this request still counts as running.
  const auto [first, last] = own_ends();
  branch_ends_.erase(first, last);
}

}  // namespace cascade
