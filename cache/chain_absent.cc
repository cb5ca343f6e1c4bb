// The chain tree: pages that leave memory although they are used, and come back.
#include <algorithm>

#include "base/check.h"
#include "cache/chain_node.h"

namespace cascade {
// Counts a node that comes into memory (1), or leaves it (-1).
void ChainIndex::count_memory(const Node* node, int count) {
  counts_.nodes += static_cast<size_t>(count);
  tenants_[node->tenant].nodes += static_cast<size_t>(count);
  if (node->locked()) counts_.locked += static_cast<size_t>(count);
  if (node->pins > 0) {
    counts_.pinned += static_cast<size_t>(count);
    tenants_[node->tenant].pinned += static_cast<size_t>(count);
  }
  if (node->held()) counts_.held += static_cast<size_t>(count);
  if (node->only_seen()) counts_.seen += static_cast<size_t>(count);
}

// The absent node gets a page in memory. It keeps its lease, so it can be spilled again.
void ChainIndex::put_into_memory(Node* node, PageIndex page) {
  pool_.retain(page);
  node->page = page;
  count_memory(node, 1);
  note_spillable(node);
  monitor_.computed(node->key);
  requeue(node);
  absorb_shorter(node);
}

// Notes whether the node can be spilled, after anything that this depends on has changed.
void ChainIndex::note_spillable(const Node* node) {
  if (can_spill(node)) {
    spillable_.emplace(node->position, node->key);
  } else if (node->in_memory() && (node->lease || node->windowed)) {
    spillable_.erase({node->position, node->key});
  }
}

void ChainIndex::set_lease(Node* node, uint32_t lease) {
  // Only a reader has use for it.
  if (node->lease || !node->in_memory() || node->readers == 0) {
    return unused_leases_.push_back(lease);
  }
  node->lease = lease;
  note_spillable(node);
}

bool can_spill(const ChainIndex::Node* node) {
  return (node->lease || node->windowed) && node->in_memory() && node->only_read();
}

bool waits_for_lease(const ChainIndex::Node* node) {
  return !node->lease && !node->windowed && node->in_memory() && node->only_read();
}

void ChainIndex::spill(Node* node) {
  CHECK(can_spill(node));
  std::vector<HoldId> unmet;
  for (const auto& [id, hold] : holds_) {
    if (!node->held()) break;
    const Node* at = hold.node;
    const bool may_have_it = node->tenant == kPublic || node->tenant == at->tenant ||
                             node->tenant == tenants_[at->tenant].base;
    if (!may_have_it) continue;
    if (at->position < node->position || hold.unseen.has(page_number(node))) continue;
    while (at->position > node->position) at = at->parent;
    if (at == node) unmet.push_back(id);
  }
  for (const HoldId id : unmet) drop_hold(id);
  spillable_.erase({node->position, node->key});
  count_memory(node, -1);
  pool_.release(node->page);
  node->page = node->lease ? kLeasedPage | *node->lease : kLostPage;
}

std::vector<uint32_t> ChainIndex::take_unused_leases(bool of_idle) {
  const auto is_after_absent = [](const auto& leaf) {
    const Node* node = leaf.second;
    if (node->windowed) return false;  // such absent pages have no leases
    while (node->parent != nullptr && node->in_memory()) node = node->parent;
    return node->parent != nullptr;
  };
  while (of_idle) {
    const auto found = std::ranges::find_if(evictable_leaves_, is_after_absent);
    if (found == evictable_leaves_.end()) break;
    Node* const node = found->second;
    while (!node->ending_holds.empty()) drop_hold(node->ending_holds.back());
    remove(node, Removal::kEvicted);
    prune_absent();
  }
  return std::exchange(unused_leases_, {});
}

void ChainIndex::lose(Node* node) {
  if (!node->in_memory()) node->page = kLostPage;
  if (!node->lease) return;
  spillable_.erase({node->position, node->key});
  unused_leases_.push_back(*std::exchange(node->lease, {}));
  note_spillable(node);
}

}  // namespace cascade
