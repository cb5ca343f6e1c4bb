// Pins of texts: a pinned chunk keeps the pages of every chain in which its text stands, from the
// first page to that in which the text ends. Chains of one conversation that part behind the text
// share all of them but the last; of those one is kept, which has the text's end as well as any.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// The chunk is pinned: what is known of its text is.
void SchedulerCore::pin_texts(const ChunkEntry& entry) {
  const ChunkUses::ChunkName chunk = {entry.chunk.tenant, entry.chunk.id};
  for (const ChunkUses::Use& use : uses_.of(chunk)) {
    if (use.ends) pin_text(entry, use.page);
  }
}

// Its text ends in the page.
void SchedulerCore::pin_text(const ChunkEntry& entry, const Digest& page) {
  ChainIndex::Node* node = index_.find(page);
  if (node == nullptr) return;
  const ChainIndex::PageName name = ChainIndex::name_of(node);
  const ChunkUses::ChunkName chunk = {entry.chunk.tenant, entry.chunk.id};
  auto& holds = text_pins_[chunk];
  if (const auto present = holds.find(name.parent); present != holds.end()) {
    if (index_.is_held(present->second)) return;
    holds.erase(present);
  }
  std::vector<int32_t> chain;
  for (const ChainIndex::Node* at : ChainIndex::path_to(node)) {
    const std::span<const int32_t> tokens = ChainIndex::name_of(at).tokens;
    chain.insert(chain.end(), tokens.begin(), tokens.end());
  }
  const auto hold = index_.hold(name.owner, chain, entry.chunk.priority);
  if (!hold) return;
  const auto pages = static_cast<int64_t>(index_.pinned_count() + index_.unpinned_count(*hold));
  if (pages + pin_pages_promised() <= pages_pinned_max()) {
    index_.pin(*hold);
    holds[name.parent] = *hold;
    text_pins_without_room_.erase(chunk);
    return;
  }
  index_.drop_hold(*hold);
  if (!text_pins_without_room_.insert(chunk).second) return;
  spdlog::warn("{} is pinned, but pages with its text can be evicted: --max-pinned has no room",
               entry.chunk.id);
}

void SchedulerCore::unpin_texts(const ChunkUses::ChunkName& chunk) {
  text_pins_without_room_.erase(chunk);
  const auto pins = text_pins_.extract(chunk);
  if (pins.empty()) return;
  for (const auto& [parent, hold] : pins.mapped()) index_.drop_hold(hold);
}

bool SchedulerCore::has_text_pin(const ChunkEntry& entry) const {
  const auto pins = text_pins_.find({entry.chunk.tenant, entry.chunk.id});
  return pins != text_pins_.end() && std::ranges::any_of(pins->second, [&](const auto& pin) {
           return index_.is_held(pin.second);
         });
}

}  // namespace cascade
