// What outlives the process: every change goes to the store, and who asked for it hears of it when
// it is durable.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <stdexcept>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// How soon a store that could not write is asked again, and for how many chunks at once.
constexpr int64_t kStoreRetryUs = 2'000'000;
constexpr size_t kStoreRetriesMax = 256;

// Of clients that ask while the chunks are being loaded.
constexpr size_t kParkedMax = 1000;
constexpr int64_t kParkedRetryMs = 100;

void set_durable(wire::Message& message, bool durable) {
  if (auto* chunk = std::get_if<wire::ChunkReply>(&message)) chunk->durable = durable;
  if (auto* final = std::get_if<wire::Final>(&message)) final->durable = durable;
  if (auto* session = std::get_if<wire::SessionReply>(&message)) session->durable = durable;
  if (auto* policy = std::get_if<wire::PolicyReply>(&message)) policy->durable = durable;
}

}  // namespace

void SchedulerCore::store(const Chunk& chunk) {
  const uint64_t job = jobs_.next();
  saving_.put(job, {{chunk.tenant, chunk.id}, /*whole=*/true});
  outbox_.send(Actor::kStore, wire::StorePut{job, chunk});
}

void SchedulerCore::store_use(const Chunk& chunk) {
  const uint64_t job = jobs_.next();
  saving_.put(job, {{chunk.tenant, chunk.id}, /*whole=*/false});
  outbox_.send(Actor::kStore, wire::StoreTouch{job, chunk.tenant, chunk.id, chunk.hits,
                                               chunk.registrations, chunk.last_used_us});
}

void SchedulerCore::store_removal(const StoredName& name) {
  const uint64_t job = jobs_.next();
  saving_.put(job, {name, /*whole=*/true, /*removal=*/true});
  outbox_.send(Actor::kStore, wire::StoreDelete{job, name.tenant, name.id});
}

void SchedulerCore::pages_are_removed(RemovingPages&& pages, const std::optional<Error>& error) {
  if (error) store_failed_us_ = clock_.monotonic_us();
  if (!pages.chunk || erasures_.find(*pages.chunk) == nullptr) {
    if (error) unremoved_.insert(unremoved_.end(), pages.keys.begin(), pages.keys.end());
    return;
  }
  const StoredName chunk = *pages.chunk;
  if (error) {
    std::vector<std::string>& keys = unerased_[chunk];
    keys.insert(keys.end(), pages.keys.begin(), pages.keys.end());
    fail_erasure(chunk, *error);
  }
  end_erasure_piece(chunk);
}

// Answers a change of `names` when all changes so far are durable or have failed to be.
void SchedulerCore::reply_when_stored(const Client& client, const wire::RequestId& id,
                                      std::vector<StoredName> names, wire::Message message) {
  const uint64_t job = saving_.empty() ? 0 : saving_.all().rbegin()->first;
  waiting_replies_.push_back({job, std::move(names), client, id, std::move(message)});
  flush_replies();
}

void SchedulerCore::flush_replies() {
  // The store answers in order.
  const uint64_t next = saving_.empty() ? UINT64_MAX : saving_.all().begin()->first;
  while (!waiting_replies_.empty() && waiting_replies_.front().job < next) {
    WaitingReply& waiting = waiting_replies_.front();
    const bool durable = std::ranges::none_of(
        waiting.names, [&](const StoredName& name) { return unsaved_.contains(name); });
    set_durable(waiting.message, durable);
    outbox_.reply(waiting.client, waiting.id, std::move(waiting.message));
    waiting_replies_.pop_front();
  }
}

void SchedulerCore::on(wire::StoreAck&& ack) {
  if (auto removal = removing_.take(ack.job)) {
    return pages_are_removed(*std::move(removal), ack.error);
  }
  const std::optional<Saving> answered = saving_.take(ack.job);
  if (!answered) {
    // Without its chunks the daemon would answer that there are none.
    if (ack.error && !loaded_) throw std::runtime_error(ack.error->to_string());
    return;  // of an earlier incarnation of the store
  }
  const Saving& saved = *answered;
  if (ack.error) {
    if (!store_error_) spdlog::error("the store failed: {}", ack.error->to_string());
    store_error_ = ack.error;
    store_failed_us_ = clock_.monotonic_us();
    unsaved_.insert(saved.name);
  } else if (saved.whole) {
    unsaved_.erase(saved.name);
  }
  if (saved.removal) row_is_removed(saved.name, ack.error);
  if (unsaved_.empty() && store_error_) {
    spdlog::info("the store works again");
    store_error_.reset();
  }
  flush_replies();
}

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

// All that was stored is known: who asked in the meantime is answered.
void SchedulerCore::end_loading() {
  if (loaded_) return;
  match_turns_and_holders();
  for (ChunkEntry* entry : registry_.all()) {
    if (const auto end = Digest::from_hex(entry->chunk.kv_key)) ++chunk_ends_[*end];
    if (entry->chunk.pinned) {
      set_pinned(*entry, true);
    } else if (!entry->chain.empty()) {
      recompute(*entry);
    }
    publish_pages(*entry);
  }
  loaded_ = true;
  for (auto& [client, envelope] : std::exchange(parked_, {})) {
    on_client(client, std::move(envelope));
  }
}

// A client asks before the chunks are there.
void SchedulerCore::park(const Client& client, wire::Envelope&& envelope) {
  if (parked_.size() >= kParkedMax) {
    return outbox_.reply_error(client, envelope.request,
                               {ErrorCode::kUnavailable, "", "the daemon is starting"},
                               kParkedRetryMs);
  }
  parked_.emplace_back(client, std::move(envelope));
}

// Sends again what has changes that are not durable, as it is now.
void SchedulerCore::save_again() {
  const std::vector<StoredName> names(unsaved_.begin(), unsaved_.end());
  for (size_t i = 0; i < std::min(names.size(), kStoreRetriesMax); ++i) {
    if (names[i].kind != StoredKind::kChunk) {
      save_setting(names[i]);
      continue;
    }
    const auto found = registry_.find_own(names[i].tenant, names[i].id);
    if (found.ok()) {
      const ChunkEntry& entry = **found;
      store(entry.chunk);
      // Its chain may be what could not be kept.
      if (!entry.chain.empty()) {
        const bool pending = entry.chunk.kv_state == KvState::kPending;
        store_chain(entry.chunk, entry.chain, entry.own_begin, pending);
      }
    } else {
      store_removal(names[i]);
    }
  }
}

// Chunks whose rows a repair removed are all right here.
void SchedulerCore::rows_removed() {
  for (const ChunkEntry* entry : registry_.all()) {
    unsaved_.insert({entry->chunk.tenant, entry->chunk.id});
  }
}

void SchedulerCore::retry_store() {
  if (clock_.monotonic_us() - store_failed_us_ < kStoreRetryUs) return;
  if (!unsaved_.empty() && saving_.empty()) save_again();
  if (removing_.empty()) send_removals(std::exchange(unremoved_, {}));
  retry_erasures();
}

void SchedulerCore::load_stored() {
  outbox_.send(Actor::kStore, wire::StoreLoad{jobs_.next(), model_.root_key("").hex()});
}

// The store was restarted: what it had been given and has not answered is lost, or may be.

void SchedulerCore::lost(std::map<uint64_t, Saving>&& jobs) {
  for (const auto& [number, saving] : jobs) unsaved_.insert(saving.name);
  save_again();
  const uint64_t job = saving_.empty() ? 0 : saving_.all().rbegin()->first;
  for (WaitingReply& waiting : waiting_replies_) waiting.job = job;
}

void SchedulerCore::lost(std::map<uint64_t, ChainWanted>&& jobs) {
  for (auto& [number, wanted] : jobs) read_chain(std::move(wanted));
}

void SchedulerCore::lost(std::map<uint64_t, RemovingPages>&& jobs) {
  for (auto& [number, pages] : jobs) {
    erasing_ = pages.chunk;
    if (erasing_) --erasures_.find(*erasing_)->pieces;
    send_removals(std::move(pages.keys));
    erasing_.reset();
  }
}

void SchedulerCore::lost(std::map<uint64_t, Search>&& jobs) {
  for (const auto& [number, asked] : jobs) {
    outbox_.reply_error(asked.client, asked.id,
                        {ErrorCode::kUnavailable, "", "the store was restarted; try again"},
                        kParkedRetryMs);
  }
}

}  // namespace cascade
