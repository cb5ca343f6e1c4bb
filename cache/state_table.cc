// Checkpoints are found by the nodes of their chain.
#include "cache/state_table.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <tuple>

#include "base/check.h"
#include "cache/chain_node.h"

namespace cascade {

using Tokens = std::span<const int32_t>;

StateTable::StateTable(size_t slots, const ChainIndex& index) : index_(index), pool_(slots) {}

StateTable::Start StateTable::find(TenantId tenant, Tokens tokens) const {
  if (!is_needed()) return {std::ssize(tokens), std::nullopt};
  if (by_page_.empty()) return {};
  const ChainIndex::Match match = index_.match(tenant, tokens);
  const auto found = static_cast<size_t>(match.tokens());
  size_t begin = match.pages.size() * kPageTokens;
  for (const ChainIndex::Node* node = match.node;; node = node->parent, begin -= kPageTokens) {
    for (const Checkpoint* checkpoint :
         reached(key_of(node), tenant, tokens.subspan(begin, found - begin))) {
      const size_t end = begin + checkpoint->tail.size();
      // With a window, other pages must be in memory for this end than for that of `tokens`.
      const bool is_there = end == found || index_.tenant(tenant).mode.window == 0 ||
                            index_.match(tenant, tokens.first(end)).tokens() == int64_t(end);
      if (is_there) return {static_cast<int64_t>(end), checkpoint->slot};
    }
    if (node->parent == nullptr) return {};
  }
}

// Returns the checkpoints after the page or root `page` whose chain begins like `tokens`, which
// come after the page: the deepest first.
std::vector<const StateTable::Checkpoint*> StateTable::reached(const Digest& page, TenantId tenant,
                                                               Tokens tokens) const {
  std::vector<const Checkpoint*> reached;
  const auto here = by_page_.find(page);
  if (here == by_page_.end()) return reached;
  for (const Checkpoint& checkpoint : here->second) {
    const bool visible = checkpoint.tail.empty() || checkpoint.tenant == tenant ||
                         (checkpoint.tenant == kPublic && index_.tenant(tenant).mode.is_dense());
    if (visible && starts_with(tokens, checkpoint.tail)) reached.push_back(&checkpoint);
  }
  std::ranges::sort(reached, std::greater(), [](const auto* c) { return c->tail.size(); });
  return reached;
}

Tokens StateTable::reusable(TenantId tenant, Tokens tokens) const {
  return tokens.first(static_cast<size_t>(find(tenant, tokens).tokens));
}

StateTable::Checkpoint* StateTable::in_slot(Slot slot) {
  for (auto& [page, checkpoints] : by_page_) {
    const auto found = std::ranges::find(checkpoints, slot, &Checkpoint::slot);
    if (found != checkpoints.end()) return &*found;
  }
  return nullptr;
}

void StateTable::touch(Slot slot, int64_t now_us) {
  Checkpoint* const checkpoint = in_slot(slot);
  if (checkpoint == nullptr) return;
  checkpoint->last_used_us = now_us;
  checkpoint->worth = Worth::kEnd;
  checkpoint->is_stored = false;
  ++unstored_changes_;
}

void StateTable::visit_unstored(const std::function<bool(const Unstored&)>& visit) const {
  for (const auto& [page, checkpoints] : by_page_) {
    for (const Checkpoint& c : checkpoints) {
      if (c.is_stored || c.worth < Worth::kEnd) continue;
      if (!visit({page, c.tenant, c.tail, c.slot})) return;
    }
  }
}

void StateTable::mark_stored(Slot slot) {
  Checkpoint* const checkpoint = in_slot(slot);
  if (checkpoint != nullptr) checkpoint->is_stored = true;
}

bool StateTable::keep(TenantId tenant, Tokens tokens, Slot slot, Worth worth, int64_t now_us) {
  CHECK(!tokens.empty());
  const ChainIndex::Match match = index_.match(tenant, tokens);
  if (match.tokens() != std::ssize(tokens)) return false;
  const Tokens tail = tokens.last(static_cast<size_t>(match.partial_tokens));
  Checkpoints& here = by_page_[key_of(match.node)];
  for (Checkpoint& known : here) {
    const bool is_same = known.tail.size() == tail.size() &&
                         (tail.empty() || known.tenant == tenant) &&
                         std::ranges::equal(known.tail, tail);
    if (!is_same) continue;
    known.last_used_us = std::max(known.last_used_us, now_us);
    known.worth = std::max(known.worth, worth);
    ++unstored_changes_;
    return true;
  }
  retain(slot);
  here.push_back({tenant, {tail.begin(), tail.end()}, slot, worth, now_us});
  ++counts_.checkpoints;
  ++unstored_changes_;
  return true;
}

template <class Drops>
void StateTable::drop_if(const Drops& drops) {
  for (auto here = by_page_.begin(); here != by_page_.end();) {
    std::erase_if(here->second, [&](const Checkpoint& checkpoint) {
      if (!drops(here->first, checkpoint)) return false;
      release(checkpoint.slot);
      --counts_.checkpoints;
      return true;
    });
    here = here->second.empty() ? by_page_.erase(here) : std::next(here);
  }
}

// Returns the node that has the checkpoint's last tokens; nullptr if the index has none.
const ChainIndex::Node* StateTable::node_of(const Digest& page,
                                            const Checkpoint& checkpoint) const {
  const ChainIndex::Node* const root = index_.root();
  const ChainIndex::Node* const node = page == key_of(root) ? root : index_.find(page);
  if (node == nullptr || checkpoint.tail.empty()) return node;
  const ChainIndex::Node* const own = child_with_prefix(node, checkpoint.tenant, checkpoint.tail);
  return own != nullptr ? own : child_with_prefix(node, kPublic, checkpoint.tail);
}

void StateTable::sweep() {
  if (losses_swept_ == index_.losses()) return;
  losses_swept_ = index_.losses();
  drop_if([this](const Digest& page, const Checkpoint& c) { return node_of(page, c) == nullptr; });
}

void StateTable::drop(Slot slot) {
  drop_if([&](const Digest&, const Checkpoint& c) { return c.slot == slot; });
}

bool StateTable::is_pinned(const Digest& page, const Checkpoint& checkpoint) const {
  if (index_.pinned_count() == 0 || checkpoint.worth == Worth::kWaypoint) return false;
  const ChainIndex::Node* const node = node_of(page, checkpoint);
  return node != nullptr && node->pins > 0;
}

// Returns the checkpoint to drop first, out of those whose slots no sequence uses; nullptr: none.
const StateTable::Checkpoint* StateTable::least_worth() const {
  const Checkpoint* least = nullptr;
  std::tuple<bool, Worth, int64_t> lowest;
  for (const auto& [page, checkpoints] : by_page_) {
    for (const Checkpoint& checkpoint : checkpoints) {
      if (is_shared(checkpoint.slot)) continue;
      const std::tuple order(is_pinned(page, checkpoint), checkpoint.worth,
                             checkpoint.last_used_us);
      if (least != nullptr && order >= lowest) continue;
      least = &checkpoint;
      lowest = order;
    }
  }
  return least;
}

bool StateTable::has_room() const {
  return !is_needed() || pool_.free_count() > 0 || least_worth() != nullptr;
}

std::optional<StateTable::Slot> StateTable::allocate(Worth most) {
  if (const auto free = pool_.allocate()) return free;
  const Checkpoint* const least = least_worth();
  if (least == nullptr || least->worth > most) return std::nullopt;
  drop(least->slot);
  ++counts_.dropped;
  return pool_.allocate();
}

}  // namespace cascade
