// What ends by itself: holders whose time is over, priorities, leases; and what goes with a chunk.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"
#include "cache/holders.h"

namespace cascade {
namespace {

// Chunks whose holders end at a time: each takes microseconds, and requests wait for them. Those
// that are left are not found any more all the same.
constexpr size_t kPassedAtOnceMax = 256;

}  // namespace

// Before any message is handled, and on each tick.
void SchedulerCore::pass_time() {
  registry_.set_time(clock_.wall_us());
  for (ChunkEntry* entry : registry_.due(kPassedAtOnceMax)) {
    if (!pass_holders_time(entry->chunk, clock_.wall_us())) continue;
    if (entry->chunk.holders.empty()) {
      remove_chunk(*entry, Removal::kExpired);
      continue;
    }
    pins_.follow_holders(*entry);
    metadata_.put(entry->chunk);
  }
  holds_.end_leases();
}

// Lets go of the chunk's pages.
void SchedulerCore::forget_chain(ChunkEntry& entry, Removal why) {
  const StoredName name = {entry.chunk.tenant, entry.chunk.id};
  withdraw_pages(entry, why, &name);
  holds_.clear(entry);
  drop_reprefills(entry, why, &name);
  entry.chain.clear();
}

// Frees the pages of `chain`, from its end, that nothing else goes on from: what was asked goes
// with the answer.
void SchedulerCore::drop_unshared(const std::string& tenant, std::span<const int32_t> chain,
                                  Removal why, const StoredName* erased) {
  const TenantId owner = tenants_.id(tenant);
  stored_.remove_unshared(stored_.path_of(owner, chain), erased);
  index_.drop_branch(owner, chain, 0, why);
}

// What was to be computed for the chunk is not needed any more: note_work_of() knows its chains.
// The one that is being computed ends in finish_idle().
void SchedulerCore::drop_reprefills(const ChunkEntry& entry, Removal why,
                                    const StoredName* erased) {
  for (const Reprefill& dropped : idle_.drop({entry.chunk.tenant, entry.chunk.id})) {
    if (dropped.for_all) {
      drop_public(dropped.chain, holds_.public_beginning(dropped.chain), why, erased);
    }
  }
}

// Frees the pages of `chain` that have tokens behind its first `keep`, and what goes on from them
// and is not retained itself; those that running requests use, with what these add to them, when
// they end. The page that has tokens of both kinds goes too: what was deleted is not to be found
// any more.
// With `unshared`, when such a request ends, also what it then leaves alone of the first `keep`.
void SchedulerCore::end_branch(const std::string& tenant, std::span<const int32_t> chain,
                               size_t keep, Removal why, bool unshared, const StoredName* erased) {
  const auto kept = static_cast<int64_t>(keep / kPageTokens * kPageTokens);
  drop_stored(tenants_.id(tenant), chain, kept, erased);
  index_.drop_subtree(tenants_.id(tenant), chain, kept, why);
  for (const auto* running : {&requests_.prefilling(), &requests_.decoding()}) {
    for (const uint64_t handle : *running) {
      const Request& request = requests_.at(handle);
      if (request.client.tenant != tenant) continue;
      if (common_prefix(request.in_pages(), chain) <= keep) continue;
      add_branch_end(handle, {tenants_.id(tenant), kept, why, unshared});
    }
  }
}

void SchedulerCore::add_branch_end(uint64_t handle, const BranchEnd& end) {
  const auto [it, added] = branch_ends_.try_emplace({handle, end.owner}, end);
  if (added) return;
  it->second.keep = std::min(it->second.keep, end.keep);
  it->second.unshared = it->second.unshared || end.unshared;
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
      drop_public(tokens, std::max(branch.keep, holds_.public_beginning(tokens)), branch.why);
    } else if (!retained) {
      drop_stored(branch.owner, tokens, branch.keep);
      index_.drop_subtree(branch.owner, tokens, branch.keep, branch.why);
      const auto before = tokens.first(std::min(tokens.size(), static_cast<size_t>(branch.keep)));
      if (branch.unshared) drop_unshared(request.client.tenant, before, branch.why);
    }
  }
  if (!retained) drop_gone_texts(request);
  // Also those that drop_public() added: this request still counts as running.
  const auto [first, last] = own_ends();
  branch_ends_.erase(first, last);
}

}  // namespace cascade
