// A hash table and the order of its entries; an entry that was taken is skipped when its turn
// comes.
#include "cache/ghost_list.h"

#include <algorithm>

namespace cascade {

void GhostList::add(const Digest& key, const Ghost& ghost) {
  if (capacity_ == 0) return;
  const uint64_t name = std::hash<Digest>()(key);
  ghosts_[name] = {ghost, next_sequence_};
  order_.emplace_back(name, next_sequence_++);
  while (order_.size() > capacity_) {
    const auto [oldest, sequence] = order_.front();
    order_.pop_front();
    const auto found = ghosts_.find(oldest);
    if (found != ghosts_.end() && found->second.sequence == sequence) ghosts_.erase(found);
  }
}

std::optional<GhostList::Ghost> GhostList::take(const Digest& key) {
  const auto found = ghosts_.find(std::hash<Digest>()(key));
  if (found == ghosts_.end()) return std::nullopt;
  Ghost ghost = found->second.ghost;
  ghost.evictions = static_cast<size_t>(next_sequence_ - found->second.sequence - 1);
  ghosts_.erase(found);
  return ghost;
}

size_t GhostList::used_since(int64_t since_us) const {
  return static_cast<size_t>(std::ranges::count_if(
      ghosts_, [&](const auto& entry) { return entry.second.ghost.last_used_us >= since_us; }));
}

}  // namespace cascade
