// What outlives the process: every change is sent to the store, and the client that asked for it is
// told when it is durable.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

void SchedulerCore::on(wire::StoreChunks&& loaded) {
  for (Chunk& chunk : loaded.chunks) {
    // The pages of an earlier incarnation are gone; its texts are not.
    chunk.kv_state = KvState::kNone;
    chunk.kv_tokens = chunk.kv_bytes = 0;
    const bool guessed = chunk.holders.empty();
    const auto added = registry_.restore(std::move(chunk));
    if (!added.ok()) {
      spdlog::warn("a stored chunk is left out: {}", added.error().message);
      continue;
    }
    (*added)->holders_guessed = guessed;
  }
}

void SchedulerCore::on(wire::StoredSettings&& stored) {
  for (Session& session : stored.sessions) doors_.sessions.restore(std::move(session));
  for (const wire::StoredPolicy& policy : stored.policies) doors_.policy.restore(policy);
}

// Takes over the chain of a chunk from before the start. The chain is computed in idle time, or
// sooner if somebody asks.
void SchedulerCore::on(wire::PendingChain&& chain) {
  const auto entry = registry_.find_own(chain.tenant, chain.id);
  if (gate_.is_open() || !entry.ok() || chain.token_ids.empty()) return;
  (*entry)->chain = std::move(chain.token_ids);
  (*entry)->own_begin = static_cast<size_t>(std::max<int64_t>(0, chain.begin));
  (*entry)->attention = idle_.mode_of((*entry)->chunk, chain.attention);
}

// All that was stored is known: answers the clients that asked in the meantime.
void SchedulerCore::end_loading() {
  if (gate_.is_open()) return;
  doors_.sessions.match_holders();
  for (ChunkEntry* entry : registry_.all()) {
    disk_.stored.move_chain_end({}, Digest::from_hex(entry->chunk.kv_key));
    if (entry->chunk.pinned) {
      keep_.pins.pin(*entry);
    } else if (!entry->chain.empty()) {
      keep_.reprefills.recompute(*entry);
    }
    keep_.published.compute(*entry);
  }
  std::vector<StartGate::Parked> parked = gate_.open();
  keep_.pins.note_loaded();
  for (auto& [client, envelope] : parked) {
    on_client(client, std::move(envelope));
  }
}

void SchedulerCore::on(wire::StoreAck&& ack) {
  const bool is_known = disk_.stored.on(ack) || metadata_.on(ack);
  // Without the store's chunks the daemon would answer that there are none.
  if (!is_known && ack.error && !gate_.is_open()) throw std::runtime_error(ack.error->to_string());
}

// Stores the named chunk, session or policy as it is now, since it has changes that are not
// durable.
void SchedulerCore::save_again(const StoredName& name) {
  if (name.kind == StoredKind::kPolicy) return doors_.policy.store(name);
  if (name.kind == StoredKind::kSession) return doors_.sessions.store(name);
  const auto found = registry_.find_own(name.tenant, name.id);
  if (!found.ok()) return metadata_.remove_chunk(name);
  const ChunkEntry& entry = **found;
  metadata_.put(entry.chunk);
  // The store may have failed to keep the chunk's chain, too.
  if (!entry.chain.empty()) {
    const bool pending = entry.chunk.kv_state == KvState::kPending;
    disk_.chains.store(entry, entry.chain, entry.own_begin, pending);
  }
}

void SchedulerCore::retry_store() {
  if (!metadata_.may_retry()) return;
  metadata_.retry();
  disk_.stored.retry();
  keep_.removals.retry();
}

// A repair removed rows of chunks. All chunks are intact here, so they are stored again.
void SchedulerCore::rows_removed() {
  for (const ChunkEntry* entry : registry_.all()) {
    metadata_.note_unsaved({entry->chunk.tenant, entry->chunk.id});
  }
}

void SchedulerCore::load_stored() {
  outbox_.send(Actor::kStore, wire::StoreLoad{jobs_.next(), model_.root_key("").hex()});
}

}  // namespace cascade
