// Pages of pins are counted before they are in memory.
#include "actors/scheduler/keep/pin_budget.h"

#include <string>

#include "actors/scheduler/chunk_settings.h"
#include "base/hash.h"

namespace cascade {
namespace {

// A template puts about this many tokens around a system prompt. The scheduler knows the exact
// number when the prompt is rendered.
constexpr size_t kTemplateTokens = 32;

}  // namespace

PinBudget::PinBudget(double max_pinned, size_t pool_pages, const ChainIndex& index,
                     const Tenants& tenants, const StoredPages& stored, const ChunkHolds& holds,
                     const TextPins& text_pins, const IdlePrefill& idle,
                     const RequestTable& requests)
    : max_pinned_(max_pinned),
      pool_pages_(pool_pages),
      index_(index),
      tenants_(tenants),
      stored_(stored),
      holds_(holds),
      text_pins_(text_pins),
      idle_(idle),
      requests_(requests) {}

int64_t PinBudget::pages_max() const {
  return static_cast<int64_t>(max_pinned_ * static_cast<double>(pool_pages_));
}

int64_t PinBudget::pages_promised() const {
  int64_t pages = 0;
  for (const auto& [sequence, promised] : waiting_) pages += promised;
  pages += text_pins_.pages_promised();
  for (const auto& [handle, request] : requests_.all()) pages += request->pin_promised;
  return pages;
}

int64_t PinBudget::pages_of(const ChunkEntry& entry) const {
  if (holds_.is_held(entry)) return static_cast<int64_t>(index_.unpinned_count(*entry.hold));
  if (!entry.chain.empty()) return pages_of_chain(entry, entry.chain.size());
  if (const auto end = Digest::from_hex(entry.chunk.kv_key)) {
    const size_t stored = stored_.disk().path(*end).size();
    if (stored > 0) return static_cast<int64_t>(stored);
    return chain_pages(static_cast<size_t>(entry.chunk.kv_begin) + entry.chunk.token_ids.size());
  }
  for (const auto& [job, history] : idle_.tokenizing()) {
    const bool its_own = history.chunk_id == entry.chunk.id && history.tenant == entry.chunk.tenant;
    if (its_own && !history.sampled_chain.empty()) {
      return pages_of_chain(entry, history.sampled_chain.size());
    }
  }
  if (entry.chunk.type != ChunkType::kSystemPrompt) return 0;
  const auto tokens = static_cast<int64_t>(entry.chunk.token_ids.size() + kTemplateTokens);
  return end_pages(tenants_.widest(idle_.attention()), tokens);
}

int64_t PinBudget::pages_of_chain(const ChunkEntry& entry, size_t tokens) const {
  return end_pages(tenants_.widest(entry.attention), static_cast<int64_t>(tokens));
}

Status PinBudget::check(std::string_view field, int64_t pages) const {
  const auto pinned = static_cast<int64_t>(index_.pinned_count());
  if (pages == 0 || pinned + pages_promised() + pages <= pages_max()) return {};
  // The error does not say how many pages others have pinned: tenants do not know of each other.
  return resource_exhausted(
      std::string(field),
      "the pin would keep " + std::to_string(pages) + " pages from eviction, more than remain of " +
          std::to_string(pages_max()) + " (the daemon's --max-pinned); unpin others first");
}

bool PinBudget::has_room_for_held(const ChunkEntry& entry) const {
  const auto pages = index_.pinned_count() + index_.unpinned_count(*entry.hold);
  return static_cast<int64_t>(pages) <= pages_max();
}

bool PinBudget::has_promise(const ChunkEntry& entry) const {
  const auto found = waiting_.find(entry.sequence);
  return found != waiting_.end() && found->second > 0;
}

}  // namespace cascade
