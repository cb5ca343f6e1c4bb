// Chains of chunks: what the store knows of them, and what pins of chunks from before the start
// wait for.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
// The chunk's chain is in memory: it is written, and the chunk knows its name from now on.
void SchedulerCore::keep_chain(ChunkEntry& entry) {
  if (!options_.keep_pages) return;
  const TenantId owner = tenants_.id(entry.chunk.tenant);
  const std::vector<NamedPage> pages = writer_.pages_of(owner, entry.chain);
  const size_t whole = static_cast<size_t>(chain_pages(entry.chain.size()));
  if (pages.size() != whole) return;
  set_chain_end(entry, pages.back().key.hex());
  entry.chunk.kv_begin = static_cast<int64_t>(entry.own_begin);
  unwritten_[pages.back().key].insert({entry.chunk.tenant, entry.chunk.id});
  const bool written = std::ranges::all_of(
      pages, [&](const NamedPage& page) { return stored_.disk().contains(page.key); });
  if (written) {
    outbox_.send(Actor::kStore, ownership({entry.chunk.tenant, entry.chunk.id}, pages.back().key));
    return note_written(pages.back().key);
  }
  writer_.write_behind(owner, entry.chain, StoredName{entry.chunk.tenant, entry.chunk.id});
}

// What the chunk's K and V are computed from. They are `pending` until they are on disk.
void SchedulerCore::store_chain(const Chunk& chunk, std::span<const int32_t> chain, size_t begin,
                                bool pending) {
  if (options_.keep_pages) metadata_.put_chain({chunk.tenant, chunk.id}, chain, begin, pending);
}

// The chunk's K and V are on disk, or will not be.
void SchedulerCore::settle_chain(const StoredName& name) {
  if (options_.keep_pages) metadata_.put_chain(name, {}, 0, /*pending=*/false);
}

// All pages of the chains that end with this one are on disk.
void SchedulerCore::note_written(const Digest& key) {
  const auto found = unwritten_.extract(key);
  if (found.empty()) return;
  for (const StoredName& name : found.mapped()) settle_chain(name);
}

// Of a chunk from before the start: computed in idle time, or sooner if somebody asks.
void SchedulerCore::on(wire::PendingChain&& chain) {
  const auto entry = registry_.find_own(chain.tenant, chain.id);
  if (loaded_ || !entry.ok() || chain.token_ids.empty()) return;
  (*entry)->chain = std::move(chain.token_ids);
  (*entry)->own_begin = static_cast<size_t>(std::max<int64_t>(0, chain.begin));
}

void SchedulerCore::set_chain_end(ChunkEntry& entry, const std::string& key) {
  const auto before = Digest::from_hex(entry.chunk.kv_key);
  stored_.move_chain_end(before, Digest::from_hex(key));
  if (before) {
    const auto unwritten = unwritten_.find(*before);
    if (unwritten != unwritten_.end())
      unwritten->second.erase({entry.chunk.tenant, entry.chunk.id});
    if (unwritten != unwritten_.end() && unwritten->second.empty()) unwritten_.erase(unwritten);
  }
  entry.chunk.kv_key = key;
}

// Of a chunk from before the start: one that is pinned is loaded or prefilled then.
void SchedulerCore::read_chain(ChainWanted&& wanted) {
  const uint64_t job = jobs_.next();
  wire::ReadChain read;
  read.job = job;
  read.model = ChainIndex::key_of(index_.root()).hex();
  read.tenant = wanted.name.tenant;
  read.id = wanted.name.id;
  read.key = wanted.key;
  outbox_.send(Actor::kStore, std::move(read));
  reading_chains_.put(job, std::move(wanted));
}

void SchedulerCore::on(wire::StoredChain&& chain) {
  const std::optional<ChainWanted> asked = reading_chains_.take(chain.job);
  if (!asked) return;
  const ChainWanted& wanted = *asked;
  const StoredName& name = wanted.name;
  if (wanted.removed) {
    const int64_t begin = chain.begin >= 0 ? chain.begin : wanted.begin;
    return end_erasure_piece(name, {{std::move(chain.token_ids), static_cast<size_t>(begin)}});
  }
  if (wanted.text_end) return text_is_read(wanted, std::move(chain));
  const auto entry = registry_.find_own(name.tenant, name.id);
  if (!entry.ok() || !(*entry)->chain.empty() || !(*entry)->chunk.pinned) return;
  if (chain.token_ids.empty()) {
    spdlog::warn("pages of {} are missing: what it was made from is not known any more", name.id);
    set_chain_end(**entry, "");
    pins_waiting_[(*entry)->sequence] = 0;
    return;  // who uses it says what it was made from: heal_pins_of()
  } else {
    (*entry)->chain = std::move(chain.token_ids);
    const int64_t begin = chain.begin >= 0 ? chain.begin : (*entry)->chunk.kv_begin;
    (*entry)->own_begin = static_cast<size_t>(begin);
  }
  pin_or_wait(**entry);
}

}  // namespace cascade
