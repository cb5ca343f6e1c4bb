// A ring of entries, and a tree of them in the order of their beginnings: the entry that shares
// most with a prompt is next to the place that the prompt would have.
#include "cache/removal_log.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"
#include "base/random.h"

namespace cascade {
namespace {

// How many neighbours to look at in each direction for a newer entry that shares as many tokens.
// This needs a limit: all entries of the log may begin alike and continue differently.
constexpr int kNeighboursMax = 16;

}  // namespace

RemovalLog::RemovalLog(size_t capacity, uint64_t salt) : capacity_(capacity), salt_(salt) {
  entries_.reserve(capacity);
}

bool RemovalLog::Before::operator()(const Entry* a, const Entry* b) const {
  const auto group = [](const Entry* entry) { return std::tie(entry->parent, entry->owner); };
  if (group(a) != group(b)) return group(a) < group(b);
  const auto begin_a = a->beginnings.begin(), begin_b = b->beginnings.begin();
  return std::lexicographical_compare(begin_a, begin_a + static_cast<ptrdiff_t>(a->count), begin_b,
                                      begin_b + static_cast<ptrdiff_t>(b->count));
}

RemovalLog::Beginnings RemovalLog::hash(std::span<const int32_t> tokens) const {
  Beginnings beginnings{};
  uint64_t state = salt_;
  for (size_t i = 0; i < tokens.size(); ++i) {
    state = counter_random(state, static_cast<uint32_t>(tokens[i]));
    beginnings[i] = static_cast<uint32_t>(state >> 32);
  }
  return beginnings;
}

void RemovalLog::add(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens,
                     Removal why) {
  CHECK(!tokens.empty() && tokens.size() <= kPageTokens);
  if (capacity_ == 0) return;
  if (entries_.size() < capacity_) {
    entries_.emplace_back();
  } else {
    // An entry that a later equal one has replaced is not in the order any more.
    const Entry& oldest = entries_[added_ % capacity_];
    const auto known = order_.find(&oldest);
    if (known != order_.end() && *known == &oldest) order_.erase(known);
  }
  Entry& entry = entries_[added_ % capacity_];
  entry = {parent, owner, added_, why, tokens.size(), hash(tokens)};
  ++added_;
  order_.erase(&entry);  // an older equal entry
  order_.insert(&entry);
}

std::optional<Removal> RemovalLog::find(const Digest& parent, uint32_t owner,
                                        std::span<const int32_t> tokens, size_t found) const {
  const Entry wanted = {parent, owner, 0, Removal::kEvicted, tokens.size(), hash(tokens)};
  const Entry* best = nullptr;
  // Notes `entry` if it is the best so far. False if entries farther away cannot be as good.
  const auto consider = [&](const Entry& entry) {
    if (entry.parent != parent || entry.owner != owner) return false;
    const auto count = static_cast<ptrdiff_t>(std::min(entry.count, wanted.count));
    const auto begin = wanted.beginnings.begin();
    const auto differs = std::mismatch(begin, begin + count, entry.beginnings.begin());
    const auto shared = static_cast<size_t>(differs.first - begin);
    if (shared < found || (shared == found && best == nullptr)) return false;
    if (shared > found || entry.number > best->number) best = &entry;
    found = shared;
    return true;
  };
  const auto after = order_.lower_bound(&wanted);
  auto next = after;
  for (int i = 0; i < kNeighboursMax && next != order_.end() && consider(**next); ++i) ++next;
  auto previous = after;
  for (int i = 0; i < kNeighboursMax && previous != order_.begin(); ++i) {
    if (!consider(**--previous)) break;
  }
  return best == nullptr ? std::nullopt : std::optional(best->why);
}

}  // namespace cascade
