// Chains are stored, written, settled, and read again.
#include "actors/scheduler/disk/chunk_chains.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "actors/scheduler/chunk_settings.h"

namespace cascade {

ChunkChains::ChunkChains(bool keeps_pages, std::string model, Jobs& jobs, Outbox& outbox,
                         Tenants& tenants, StoredPages& stored, PageWriter& writer,
                         MetadataWriter& metadata, IsRead is_read)
    : keeps_pages_(keeps_pages),
      model_(std::move(model)),
      jobs_(jobs),
      outbox_(outbox),
      tenants_(tenants),
      stored_(stored),
      writer_(writer),
      metadata_(metadata),
      is_read_(std::move(is_read)),
      reading_(jobs, {Actor::kStore}, [this](PendingJobs<ChainWanted>::All&& lost) {
        for (auto& [number, wanted] : lost) read(std::move(wanted));
      }) {}

void ChunkChains::store(const ChunkEntry& entry, std::span<const int32_t> chain,
                        size_t begin_tokens, bool pending) {
  store(entry, entry.attention, chain, begin_tokens, pending);
}

void ChunkChains::store(const ChunkEntry& entry, const AttentionMode& mode,
                        std::span<const int32_t> chain, size_t begin_tokens, bool pending) {
  if (!keeps_pages_ || !mode.is_stored()) return;
  metadata_.put_chain({entry.chunk.tenant, entry.chunk.id}, chain, begin_tokens, pending, mode);
}

void ChunkChains::settle(const StoredName& chunk) {
  if (keeps_pages_) metadata_.put_chain(chunk, {}, 0, /*pending=*/false, {});
}

void ChunkChains::keep(ChunkEntry& entry) {
  if (!keeps_pages_ || !entry.attention.is_stored()) return;
  const TenantId owner = tenants_.id(entry.chunk.tenant, entry.attention);
  const std::vector<NamedPage> pages = writer_.pages_of(owner, entry.chain);
  const size_t whole = static_cast<size_t>(chain_pages(entry.chain.size()));
  if (pages.size() != whole) return;
  const Digest& end = pages.back().key;
  const StoredName name = {entry.chunk.tenant, entry.chunk.id};
  set_end(entry, end.hex());
  entry.chunk.kv_begin = static_cast<int64_t>(entry.own_begin);
  unwritten_[end].insert(name);
  const bool written = std::ranges::all_of(
      pages, [&](const NamedPage& page) { return stored_.disk().contains(page.key); });
  if (written) {
    outbox_.send(Actor::kStore, ownership(name, end));
    return note_written(end);
  }
  writer_.write_behind(owner, entry.chain, name);
}

void ChunkChains::note_written(const Digest& end) {
  const auto found = unwritten_.extract(end);
  if (found.empty()) return;
  for (const StoredName& name : found.mapped()) settle(name);
}

void ChunkChains::set_end(ChunkEntry& entry, const std::string& key) {
  const auto before = Digest::from_hex(entry.chunk.kv_key);
  stored_.move_chain_end(before, Digest::from_hex(key));
  entry.chunk.kv_key = key;
  const auto unwritten = before ? unwritten_.find(*before) : unwritten_.end();
  if (unwritten == unwritten_.end()) return;
  unwritten->second.erase({entry.chunk.tenant, entry.chunk.id});
  if (unwritten->second.empty()) unwritten_.erase(unwritten);
}

void ChunkChains::read(ChainWanted&& wanted) {
  const uint64_t job = jobs_.next();
  wire::ReadChain message;
  message.job = job;
  message.model = model_;
  message.tenant = wanted.name.tenant;
  message.id = wanted.name.id;
  message.key = wanted.key;
  outbox_.send(Actor::kStore, std::move(message));
  reading_.put(job, std::move(wanted));
}

void ChunkChains::on(wire::StoredChain&& chain) {
  const std::optional<ChainWanted> wanted = reading_.take(chain.job);
  if (wanted) is_read_(*wanted, std::move(chain));
}

}  // namespace cascade
