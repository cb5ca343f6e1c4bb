// A pin takes effect, waits, or is healed.
#include "actors/scheduler/keep/chunk_pins.h"

#include <spdlog/spdlog.h>

#include <utility>

namespace cascade {
namespace {

// The time between two looks for pins whose K and V are missing. A look visits all chunks.
constexpr int64_t kHealUs = 2'000'000;

}  // namespace

ChunkPins::ChunkPins(bool keeps_pages, const Clock& clock, ChainIndex& index,
                     ChunkRegistry& registry, const StoredPages& stored, ChunkHolds& holds,
                     PinBudget& budget, PinnedTexts& texts, ChunkChains& chains, IdlePrefill& idle,
                     Compute compute)
    : keeps_pages_(keeps_pages),
      clock_(clock),
      index_(index),
      registry_(registry),
      stored_(stored),
      holds_(holds),
      budget_(budget),
      texts_(texts),
      chains_(chains),
      idle_(idle),
      compute_(std::move(compute)) {}

void ChunkPins::follow_holders(ChunkEntry& entry) {
  registry_.reschedule(entry);
  holds_.follow_priority(entry);
  const bool pin_is_known = budget_.is_waiting(entry) || without_room_.contains(entry.sequence) ||
                            (entry.hold && index_.is_pinned(*entry.hold));
  if (entry.chunk.pinned == pin_is_known) return;
  if (entry.chunk.pinned) {
    pin(entry);
  } else {
    unpin(entry);
  }
}

void ChunkPins::pin(ChunkEntry& entry) {
  pin_or_wait(entry);
  texts_.pin(entry);
}

void ChunkPins::unpin(const ChunkEntry& entry) {
  texts_.unpin(entry);
  if (entry.hold) index_.unpin(*entry.hold);
  release(entry);
}

void ChunkPins::release(const ChunkEntry& entry) {
  budget_.end_waiting(entry);
  without_room_.erase(entry.sequence);
}

void ChunkPins::pin_or_wait(ChunkEntry& entry) {
  holds_.refresh(entry);
  if (entry.hold) {
    index_.pin(*entry.hold);
    budget_.end_waiting(entry);
    return;
  }
  budget_.promise(entry, budget_.pages_of(entry));
  if (entry.chunk.kv_state == KvState::kPending) return;
  const bool may_be_stored = entry.chunk.type == ChunkType::kOutput && keeps_pages_ && loaded_;
  if (!entry.chain.empty()) {
    compute_(entry);
  } else if (!entry.chunk.kv_key.empty() || may_be_stored) {
    chains_.read({{entry.chunk.tenant, entry.chunk.id}, entry.chunk.kv_key});
  } else if (entry.chunk.type == ChunkType::kSystemPrompt && idle_.tokenize_prefix(entry.chunk)) {
    entry.chunk.kv_state = KvState::kPending;
  }
}

// There may be no room: the pages were only estimated when they were promised, and --max-pinned may
// have been lowered since.
void ChunkPins::pin_held(ChunkEntry& entry) {
  budget_.end_waiting(entry);
  if (budget_.has_room_for_held(entry)) {
    without_room_.erase(entry.sequence);
    return index_.pin(*entry.hold);
  }
  if (!without_room_.insert(entry.sequence).second) return;
  spdlog::warn("{} is pinned, but its pages can be evicted: --max-pinned has no room for them",
               entry.chunk.id);
}

void ChunkPins::promise_again(ChunkEntry& entry) {
  if (holds_.is_held(entry)) return;
  holds_.refresh(entry);
  budget_.promise(entry, budget_.pages_of(entry));
}

void ChunkPins::chain_is_read(const ChainWanted& wanted, wire::StoredChain&& chain) {
  const auto found = registry_.find_own(wanted.name.tenant, wanted.name.id);
  if (!found.ok() || !(*found)->chain.empty() || !(*found)->chunk.pinned) return;
  ChunkEntry& entry = **found;
  if (chain.token_ids.empty()) {
    spdlog::warn(
        "pages of {} are missing until a request uses it: what it was made from is not known",
        wanted.name.id);
    chains_.set_end(entry, "");
    return budget_.promise(entry, 0);  // a request with the chunk tells its source: heal_from()
  }
  entry.chain = std::move(chain.token_ids);
  entry.attention = idle_.mode_of(entry.chunk, chain.attention);
  const int64_t begin = chain.begin >= 0 ? chain.begin : entry.chunk.kv_begin;
  entry.own_begin = static_cast<size_t>(begin);
  pin_or_wait(entry);
}

void ChunkPins::retry() {
  for (const uint64_t sequence : std::set(without_room_)) {
    const auto held = holds_.held().find(sequence);
    if (held != holds_.held().end() && holds_.is_held(*held->second)) {
      pin_held(*held->second);
    } else {
      if (held != holds_.held().end()) holds_.refresh(*held->second);
      without_room_.erase(sequence);  // evicted: heal() pins it when there is room
    }
  }
}

void ChunkPins::heal() {
  const int64_t now = clock_.monotonic_us();
  if (now - healed_us_ < kHealUs) return;
  healed_us_ = now;
  std::vector<ChunkEntry*> approximate;
  for (const auto& [sequence, held] : holds_.held()) {
    const bool lacks = held->chunk.pinned && keeps_pages_ && !is_chain_on_disk(*held);
    if (!lacks || !holds_.is_held(*held)) continue;
    if (held->attention.is_approximate()) {
      approximate.push_back(held);
    } else {
      chains_.keep(*held);
    }
  }
  for (ChunkEntry* entry : approximate) {
    if (!idle_.has({entry->chunk.tenant, entry->chunk.id})) compute_(*entry);
  }
  texts_.heal();
  if (!budget_.any_waiting()) return;
  registry_.for_each(std::nullopt, [&](ChunkEntry& entry) {
    const bool lost = entry.chunk.pinned && !entry.hold && !entry.chain.empty() &&
                      budget_.is_waiting(entry) && !idle_.has({entry.chunk.tenant, entry.chunk.id});
    if (!lost) return;
    // Without room the chain would be computed only to be evicted again.
    const bool may =
        budget_.has_promise(entry) || budget_.check("pinned", budget_.pages_of(entry)).ok();
    if (may) compute_(entry);
  });
}

void ChunkPins::heal_from(const Request& request) {
  for (const auto& [id, place] : request.answers) {
    const auto found = registry_.find_own(request.client.tenant, id);
    if (!found.ok()) continue;
    const ChunkEntry& entry = **found;
    const bool known = entry.hold || !entry.chain.empty() || !entry.chunk.kv_key.empty() ||
                       entry.chunk.kv_state != KvState::kNone;
    const bool lost = entry.chunk.pinned && !known && budget_.is_waiting(entry) &&
                      entry.chunk.think_policy != ThinkPolicy::kDrop;
    if (!lost || idle_.tokenizes_many()) continue;
    wire::EncodeJob job;
    const auto end = request.messages.begin() + static_cast<ptrdiff_t>(place) + 1;
    job.messages.assign(request.messages.begin(), end);
    job.thinking = request.params.thinking;
    job.reasoning_effort = request.params.reasoning_effort;
    job.tools = request.params.tools;
    Reprefill next;
    next.tenant = entry.chunk.tenant;
    next.chunk_id = id;
    next.attention = request.attention;  // the chunk's own is not known: nothing of it is on disk
    idle_.tokenize(std::move(job), std::move(next));
  }
}

// Whether the whole chain of the chunk is in files, or never will be. An approximate chain will be
// replaced by one that is written.
bool ChunkPins::is_chain_on_disk(const ChunkEntry& entry) const {
  if (entry.attention.is_approximate()) return false;
  if (!entry.attention.is_stored()) return true;
  const auto end = Digest::from_hex(entry.chunk.kv_key);
  return end && stored_.disk().contains(*end) &&
         stored_.disk().path(*end).size() == static_cast<size_t>(chain_pages(entry.chain.size()));
}

bool ChunkPins::is_on_disk(const ChunkEntry& entry) const {
  if (!has_own_chain(entry.chunk.type)) return texts_.is_on_disk(entry);
  return !holds_.is_held(entry) || is_chain_on_disk(entry);
}

void ChunkPins::write(ChunkEntry& entry) {
  if (holds_.is_held(entry)) chains_.keep(entry);
  texts_.write(entry);
}

}  // namespace cascade
