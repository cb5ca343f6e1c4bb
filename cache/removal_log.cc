// A ring of entries; those of one parent are linked, latest first.
#include "cache/removal_log.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"

namespace cascade {

RemovalLog::Beginnings RemovalLog::hash(std::span<const int32_t> tokens) const {
  Beginnings beginnings{};
  uint64_t state = salt_;
  for (size_t i = 0; i < tokens.size(); ++i) {
    state = counter_random(state, static_cast<uint32_t>(tokens[i]));
    beginnings[i] = static_cast<uint32_t>(state >> 32);
  }
  return beginnings;
}

const RemovalLog::Entry* RemovalLog::entry(std::optional<uint64_t> number) const {
  if (!number || *number + entries_.size() < added_) return nullptr;
  return &entries_[*number % capacity_];
}

void RemovalLog::add(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens,
                     Removal why) {
  CHECK(!tokens.empty() && tokens.size() <= kPageTokens);
  if (capacity_ == 0) return;
  if (entries_.size() < capacity_) {
    entries_.emplace_back();
  } else {
    const auto oldest = latest_.find(entries_[added_ % capacity_].parent);
    if (oldest != latest_.end() && oldest->second + capacity_ == added_) latest_.erase(oldest);
  }
  const auto [latest, first] = latest_.try_emplace(parent, added_);
  const auto previous = first ? std::nullopt : std::optional(latest->second);
  latest->second = added_;
  entries_[added_ % capacity_] = {parent, previous, owner, why, tokens.size(), hash(tokens)};
  ++added_;
}

std::optional<Removal> RemovalLog::find(const Digest& parent, uint32_t owner,
                                        std::span<const int32_t> tokens, size_t found) const {
  const auto latest = latest_.find(parent);
  if (latest == latest_.end()) return std::nullopt;
  const Beginnings wanted = hash(tokens);
  std::optional<Removal> why;
  for (const Entry* next = entry(latest->second); next != nullptr; next = entry(next->previous)) {
    const auto count = static_cast<ptrdiff_t>(std::min(next->count, tokens.size()));
    if (next->owner != owner) continue;
    const auto differs =
        std::mismatch(wanted.begin(), wanted.begin() + count, next->beginnings.begin());
    const auto shared = static_cast<size_t>(differs.first - wanted.begin());
    if (shared <= found) continue;
    found = shared;
    why = next->why;
  }
  return why;
}

}  // namespace cascade
