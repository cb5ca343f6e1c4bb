// Which chains are kept: holds of chunks and prompts, pins, and the room for both.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <functional>

#include "actors/scheduler/scheduler_core.h"
#include "cache/holders.h"

namespace cascade {
namespace {

// How often pins whose K and V are not there are looked for: all chunks are.
constexpr int64_t kHealUs = 2'000'000;

}  // namespace

void SchedulerCore::set_pinned(ChunkEntry& entry, bool pinned) {
  if (pinned) {
    pin_or_wait(entry);
    return pin_texts(entry);
  }
  unpin_texts(entry);
  if (entry.hold) index_.unpin(*entry.hold);
  pin_budget_.end_waiting(entry);
  pins_without_room_.erase(entry.sequence);
}

// A pin takes effect when the chain is held; until then its pages are promised, and computed if
// that is possible.
void SchedulerCore::pin_or_wait(ChunkEntry& entry) {
  holds_.refresh(entry);
  if (entry.hold) {
    index_.pin(*entry.hold);
    pin_budget_.end_waiting(entry);
    return;
  }
  pin_budget_.promise(entry, pin_budget_.pages_of(entry));
  if (entry.chunk.kv_state == KvState::kPending) return;
  if (!entry.chain.empty()) {
    recompute(entry);
  } else if (!entry.chunk.kv_key.empty() ||
             (entry.chunk.type == ChunkType::kOutput && options_.keep_pages && loaded_)) {
    chains_.read({{entry.chunk.tenant, entry.chunk.id}, entry.chunk.kv_key});
  } else if (entry.chunk.type == ChunkType::kSystemPrompt) {
    start_prefix(entry);
  }
}

// The chain was evicted: it is prefilled in idle time as it was.
void SchedulerCore::recompute(ChunkEntry& entry) {
  Reprefill again;
  again.tenant = entry.chunk.tenant;
  again.chunk_id = entry.chunk.id;
  again.chain = again.sampled_chain = entry.chain;
  again.prompt_tokens = entry.own_begin;
  queue_reprefill(entry, std::move(again));
}

// Computes, in idle time, what every conversation with this system prompt begins with.
void SchedulerCore::start_prefix(ChunkEntry& entry) {
  if (idle_.tokenize_prefix(entry.chunk)) entry.chunk.kv_state = KvState::kPending;
}

// A pin was promised, so what is promised to others does not matter. What it needs was estimated,
// and --max-pinned may have been lowered since: without room its pages can be evicted for now.
void SchedulerCore::pin_held(ChunkEntry& entry) {
  pin_budget_.end_waiting(entry);
  if (pin_budget_.has_room_for_held(entry)) {
    pins_without_room_.erase(entry.sequence);
    return index_.pin(*entry.hold);
  }
  if (!pins_without_room_.insert(entry.sequence).second) return;
  spdlog::warn("{} is pinned, but its pages can be evicted: --max-pinned has no room for them",
               entry.chunk.id);
}

void SchedulerCore::retry_pins() {
  for (const uint64_t sequence : std::set(pins_without_room_)) {
    const auto held = holds_.held().find(sequence);
    if (held != holds_.held().end() && index_.is_held(*held->second->hold)) {
      pin_held(*held->second);
    } else {
      if (held != holds_.held().end()) holds_.refresh(*held->second);
      pins_without_room_.erase(sequence);  // evicted: heal_pins() pins it when there is room
    }
  }
}

// What could not be computed for a pin, for want of room or because an actor failed, is computed
// when that is possible; what is not on disk, because another pin took its place there or the disk
// failed, is written again.
void SchedulerCore::heal_pins() {
  const int64_t now = clock_.monotonic_us();
  if (now - pins_healed_us_ < kHealUs) return;
  pins_healed_us_ = now;
  for (const auto& [sequence, held] : holds_.held()) {
    const bool lacks = held->chunk.pinned && options_.keep_pages && !is_on_disk(*held);
    if (lacks && index_.is_held(*held->hold)) chains_.keep(*held);
  }
  heal_text_pins();
  if (!pin_budget_.any_waiting()) return;
  registry_.for_each(std::nullopt, [&](ChunkEntry& entry) {
    const bool lost = entry.chunk.pinned && !entry.hold && !entry.chain.empty() &&
                      pin_budget_.is_waiting(entry) &&
                      !idle_.has({entry.chunk.tenant, entry.chunk.id});
    if (!lost) return;
    // Without room it would be computed only to be evicted again.
    if (pin_budget_.has_promise(entry) ||
        pin_budget_.check("pinned", pin_budget_.pages_of(entry)).ok())
      recompute(entry);
  });
}

// Pins of outputs from before a start whose chain is not known any more: the conversation that the
// request has says what it is.
void SchedulerCore::heal_pins_of(const Request& request, const Composition& composition) {
  for (const auto& [id, place] : composition.answers) {
    const auto found = registry_.find_own(request.client.tenant, id);
    if (!found.ok()) continue;
    const ChunkEntry& entry = **found;
    const bool known = entry.hold || !entry.chain.empty() || !entry.chunk.kv_key.empty() ||
                       entry.chunk.kv_state != KvState::kNone;
    const bool lost = entry.chunk.pinned && !known && pin_budget_.is_waiting(entry) &&
                      entry.chunk.think_policy != ThinkPolicy::kDrop;
    if (!lost || idle_.tokenizes_many()) continue;
    wire::EncodeJob job;
    const auto end = composition.messages.begin() + static_cast<ptrdiff_t>(place) + 1;
    job.messages.assign(composition.messages.begin(), end);
    job.thinking = request.params.thinking;
    job.tools = request.params.tools;
    Reprefill next;
    next.tenant = entry.chunk.tenant;
    next.chunk_id = id;
    idle_.tokenize(std::move(job), std::move(next));
  }
}

// The whole pages of the prompt have a priority for a while: they are written, too.
void SchedulerCore::keep_leased(const Request& request) {
  uses_.note(request);
  const size_t whole = request.prompt.size() / kPageTokens * kPageTokens;
  writer_.write_behind(tenants_.id(request.client.tenant), std::span(request.prompt).first(whole));
  holds_.trim();
}

// With nothing running, a request that cannot start never will: pinned chunks have its pages. What
// the store reads or writes for idle work keeps pages for a while only.
void SchedulerCore::refuse_starved() {
  if (idle_.is_loading() || writer_.is_writing()) return;
  while (requests_.running() == 0 && !requests_.waiting().empty()) {
    Request& first = requests_.at(requests_.waiting().front());
    const size_t left = pool_.page_count() - index_.pinned_count();
    fail(first,
         resource_exhausted(
             "max_tokens", "prompt and answer need " + std::to_string(first.pages_promised) +
                               " pages of KV memory; pinned chunks leave " + std::to_string(left)));
    start_waiting();
  }
}

}  // namespace cascade
