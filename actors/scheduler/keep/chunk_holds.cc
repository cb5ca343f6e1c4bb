// Takes holds, notices which are lost, and trims them.
#include "actors/scheduler/keep/chunk_holds.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace cascade {
namespace {

// How many holds one call looks at. With ten calls a second, all holds of a tenant that has very
// many are looked at within half a minute.
constexpr int kHoldsAtOnce = 256;

}  // namespace

ChunkHolds::ChunkHolds(const HoldLimits& limits, const Clock& clock, Outbox& outbox,
                       ChainIndex& index, const PageSizes& pages, Tenants& tenants,
                       const StoredPages& stored, TextUses& uses, const TextPins& text_pins,
                       Callbacks callbacks)
    : limits_(limits),
      clock_(clock),
      outbox_(outbox),
      index_(index),
      pages_(pages),
      tenants_(tenants),
      stored_(stored),
      uses_(uses),
      text_pins_(text_pins),
      callbacks_(std::move(callbacks)) {}

void ChunkHolds::take(ChunkEntry& entry) {
  clear(entry);
  entry.hold = index_.hold(tenants_.id(entry.chunk.tenant, entry.attention), entry.chain,
                           entry.chunk.priority);
  if (!entry.hold) return;
  held_[entry.sequence] = &entry;
  entry.chunk.kv_approximation = entry.attention.approximation;
  outbox_.tell_of(entry.chunk, EventKind::kChunkRestored);
  callbacks_.held(entry);
  trim();
}

bool ChunkHolds::take_public(ChunkEntry& entry, std::span<const int32_t> chain) {
  clear_public(entry);
  entry.public_hold = index_.hold(kPublic, chain, entry.chunk.priority);
  if (entry.public_hold) public_[entry.sequence] = &entry;
  return entry.public_hold.has_value();
}

void ChunkHolds::clear(ChunkEntry& entry) {
  if (entry.hold) index_.drop_hold(*entry.hold);
  entry.hold.reset();
  held_.erase(entry.sequence);
}

void ChunkHolds::clear_public(ChunkEntry& entry) {
  if (entry.public_hold) index_.drop_hold(*entry.public_hold);
  entry.public_hold.reset();
  public_.erase(entry.sequence);
}

void ChunkHolds::follow_priority(const ChunkEntry& entry) {
  for (const auto& hold : {entry.hold, entry.public_hold}) {
    if (hold) index_.set_priority(*hold, entry.chunk.priority);
  }
}

int64_t ChunkHolds::public_beginning(std::span<const int32_t> chain) const {
  size_t shared = 0;
  for (const auto& [sequence, other] : public_) {
    shared = std::max(shared, common_prefix(other->chain, chain));
  }
  return static_cast<int64_t>(shared / kPageTokens * kPageTokens);
}

void ChunkHolds::refresh(ChunkEntry& entry) {
  if (entry.hold && !index_.is_held(*entry.hold)) {
    clear(entry);
    const bool comes_back = entry.chunk.pinned && !entry.chain.empty();
    entry.chunk.kv_state = comes_back ? KvState::kPending : KvState::kNone;
    if (comes_back) callbacks_.pin_lost(entry);
    outbox_.tell_of(entry.chunk, EventKind::kChunkEvicted);
  }
  if (!has_own_chain(entry.chunk.type)) {
    entry.chunk.kv_state = entry.chunk.pinned
                               ? text_pins_.state_of({entry.chunk.tenant, entry.chunk.id})
                               : KvState::kNone;
  }
  const bool ready = entry.hold.has_value();
  entry.chunk.kv_approximation = ready ? entry.attention.approximation : Approximation::kNone;
  const auto chain = static_cast<int64_t>(entry.chain.size());
  entry.chunk.kv_tokens = ready ? chain : 0;
  // The chunk's own tokens come after the prompt. A page that they share with the prompt counts,
  // too.
  const int64_t own = std::min(chain, static_cast<int64_t>(entry.own_begin));
  const int64_t pages = std::min((chain + kPageTokens - 1) / kPageTokens - own / kPageTokens,
                                 end_pages(tenants_.widest(entry.attention), chain));
  entry.chunk.kv_bytes = ready ? pages * static_cast<int64_t>(pages_.bytes) : 0;
}

void ChunkHolds::measure(ChunkEntry& entry) {
  refresh(entry);
  const PagesOfChunk pages = pages_of(entry);
  entry.chunk.kv_bytes = static_cast<int64_t>(pages_.bytes * pages.in_memory.size());
  entry.chunk.kv_disk_pages = std::ssize(pages.on_disk);
  entry.chunk.kv_disk_bytes = static_cast<int64_t>(pages_.disk_bytes * pages.on_disk.size());
}

PagesOfChunk ChunkHolds::pages_of(const ChunkEntry& entry) const {
  PagesOfChunk pages;
  const Chunk& chunk = entry.chunk;
  if (is_held(entry)) {
    const auto tenant = tenants_.find(chunk.tenant, entry.attention);
    const ChainIndex::Match match =
        tenant ? index_.match(*tenant, entry.chain) : ChainIndex::Match();
    std::vector<ChainIndex::Node*> nodes = path_to(match.node);
    if (match.partial != nullptr) nodes.push_back(match.partial);
    for (size_t i = entry.own_begin / kPageTokens; i < nodes.size(); ++i) {
      if (in_memory(page_of(nodes[i]))) pages.in_memory.insert(nodes[i]);
    }
  }
  if (const auto end = Digest::from_hex(chunk.kv_key); end) {
    const std::vector<DiskIndex::Step> path = stored_.disk().path(*end);
    int64_t position = 0;
    for (const DiskIndex::Step& step : path) position += step.tokens;
    for (const DiskIndex::Step& step : path) {
      if (position <= chunk.kv_begin) break;
      pages.on_disk.insert(step.key);
      position -= step.tokens;
    }
  }
  for (const ChunkUses::Use& use : uses_.uses().of({chunk.tenant, chunk.id})) {
    const ChainIndex::Node* const node = index_.find(use.page);
    if (node != nullptr && in_memory(page_of(node))) pages.in_memory.insert(node);
    if (stored_.disk().contains(use.page)) pages.on_disk.insert(use.page);
  }
  return pages;
}

void ChunkHolds::look_for_evictions() {
  auto next = held_.upper_bound(evictions_seen_);
  for (int looked = 0; looked < kHoldsAtOnce && next != held_.end(); ++looked) {
    evictions_seen_ = next->first;
    ChunkEntry& entry = *next->second;
    ++next;  // refresh() takes this hold out if it is lost
    refresh(entry);
  }
  if (next == held_.end()) evictions_seen_ = 0;
}

bool ChunkHolds::lease(const Request& request) {
  const auto& params = request.params;
  if (!params.prompt_priority || !params.prompt_priority_ms) return false;
  if (uses_.has_gone_text(request.texts)) return false;
  if (leases_.size() >= static_cast<size_t>(limits_.leases_max)) {
    spdlog::warn("a prompt has no priority of its own: there are {} already", leases_.size());
    return false;
  }
  const size_t whole = request.prompt.size() / kPageTokens * kPageTokens;
  if (whole == 0) return false;
  const auto hold = index_.hold(tenants_.id(request.client.tenant, request.attention),
                                std::span(request.prompt).first(whole), *params.prompt_priority);
  if (!hold) return false;
  const int64_t end_us = clock_.monotonic_us() + *params.prompt_priority_ms * 1000;
  leases_.emplace(end_us, Lease{request.client.tenant,
                                {request.prompt.begin(), request.prompt.end()},
                                request.texts,
                                *hold,
                                *params.prompt_priority,
                                clock_.wall_us()});
  return true;
}

void ChunkHolds::end_leases() {
  const auto end = leases_.upper_bound(clock_.monotonic_us());
  for (auto it = leases_.begin(); it != end; ++it) index_.drop_hold(it->second.hold);
  leases_.erase(leases_.begin(), end);
}

void ChunkHolds::drop_leases_if(const std::function<bool(const Lease&)>& drops) {
  std::erase_if(leases_, [&](const auto& lease) {
    const bool dropped = drops(lease.second);
    if (dropped) index_.drop_hold(lease.second.hold);
    return dropped;
  });
}

int64_t ChunkHolds::pages_max() const {
  return static_cast<int64_t>(limits_.memory_ratio * static_cast<double>(pages_.count));
}

void ChunkHolds::trim() {
  const auto most = static_cast<size_t>(pages_max());
  if (index_.held_count() <= most) return;
  struct Candidate {
    int32_t priority;
    int64_t last_used_us;
    std::function<void()> let_go;
  };
  std::vector<Candidate> candidates;
  for (const auto& [sequence, held] : held_) {
    if (held->chunk.pinned) continue;
    const auto let_go = [this, entry = held] {
      clear(*entry);
      entry->chunk.kv_state = KvState::kNone;
      outbox_.tell_of(entry->chunk, EventKind::kChunkEvicted);
    };
    candidates.push_back({held->chunk.priority, held->chunk.last_used_us, let_go});
  }
  for (const auto& [sequence, held] : public_) {
    candidates.push_back({held->chunk.priority, held->chunk.last_used_us,
                          [this, entry = held] { clear_public(*entry); }});
  }
  for (auto lease = leases_.begin(); lease != leases_.end(); ++lease) {
    const auto let_go = [this, lease] {
      index_.drop_hold(lease->second.hold);
      leases_.erase(lease);
    };
    candidates.push_back({lease->second.priority, lease->second.since_us, let_go});
  }
  std::ranges::sort(candidates, {}, [](const Candidate& candidate) {
    return std::pair(candidate.priority, candidate.last_used_us);
  });
  for (const Candidate& candidate : candidates) {
    if (index_.held_count() <= most) return;
    candidate.let_go();
  }
}

}  // namespace cascade
