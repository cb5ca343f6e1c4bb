// When the pages take as much as they may, the store removes old ones for new ones. When only the
// disk has no free space, the store removes nothing.
#include "actors/scheduler/disk/disk_room.h"

#include <algorithm>
#include <limits>

#include "cache/kv_view.h"

namespace cascade {

DiskRoom::DiskRoom(const DiskLimits& limits, const StoredPages& stored, const PageSpills& spills,
                   const ChainIndex& index, Tenants& tenants)
    : limits_(limits), stored_(stored), spills_(spills), index_(index), tenants_(tenants) {}

int64_t DiskRoom::free_bytes() const {
  // Half of the largest number, so that sums do not overflow.
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max() / 2;
  return limits_.free_bytes ? std::clamp<int64_t>(limits_.free_bytes(), 0, kMost) : kMost;
}

int64_t DiskRoom::used_bytes() const {
  return limits_.page_bytes * static_cast<int64_t>(stored_.disk().size());
}

int64_t DiskRoom::bytes() const {
  return std::min(limits_.bytes_max, used_bytes() + free_bytes());
}

int64_t DiskRoom::tokens(const AttentionMode& mode) const {
  if (!spills_.possible() || !mode.is_stored()) return 0;
  return std::min(spills_.tokens_max(mode), tokens_with(0, 0));
}

std::optional<int64_t> DiskRoom::tokens_for(const Request& request) const {
  return tokens_for(request, request.reusable());
}

std::optional<int64_t> DiskRoom::tokens_for(const Request& request,
                                            std::span<const int32_t> known) const {
  const bool may_spill = spills_.possible() && request.attention.is_stored();
  if (!may_spill || request.params.output_pinned.value_or(false)) return std::nullopt;
  const int64_t most = spills_.tokens_max(request.attention);
  const auto owner = request.attention.is_dense()
                         ? std::optional(tenants_.id(request.client.tenant))
                         : tenants_.find(request.client.tenant, request.attention);
  if (!owner) return std::min(most, tokens_with(0, 0));
  const auto stored =
      std::ranges::count_if(stored_.path_of(*owner, known),
                            [this](const Digest& key) { return stored_.disk().contains(key); });
  const auto own_pins = pinned_count(index_.match(*owner, known).node);
  return std::min(most, tokens_with(stored, static_cast<int64_t>(own_pins)));
}

int64_t DiskRoom::tokens_with(int64_t stored_pages, int64_t own_pins) const {
  if (limits_.page_bytes == 0) return std::numeric_limits<int64_t>::max();
  const int64_t free = free_bytes();
  int64_t pages = stored_pages + free / limits_.page_bytes;
  if (used_bytes() + free >= limits_.bytes_max) {
    // Old pages make room for new ones, but pinned ones stay.
    const size_t pinned = index_.pinned_count() - tenants_.pinned_unwritten();
    const int64_t others_pins = static_cast<int64_t>(pinned) - own_pins;
    pages = limits_.bytes_max / limits_.page_bytes - others_pins;
  }
  return std::max<int64_t>(0, pages) * kPageTokens;
}

}  // namespace cascade
