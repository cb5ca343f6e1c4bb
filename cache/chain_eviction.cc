// The chain tree: which leaf is evicted first.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "cache/attention_pages.h"
#include "cache/chain_node.h"

namespace cascade {
namespace {

// While the cache thrashes, only one new sequence in this many is admitted without probation.
constexpr uint64_t kAdmissionInterval = 32;

// A relative change of the bonus below this leaves nearly all pages in the same order.
constexpr double kBonusStep = 0.1;
constexpr size_t kQueueShare = 4;

// Below those of all pages in memory.
constexpr int32_t kAbsentRank = std::numeric_limits<int32_t>::min();

// Whether some chain goes on for at least `pages` pages after the node.
bool has_descendants(const ChainIndex::Node* node, int pages) {
  if (pages == 0) return true;
  return std::ranges::any_of(
      node->children, [&](const auto& child) { return has_descendants(child.get(), pages - 1); });
}

}  // namespace

bool ChainIndex::next_on_probation() {
  const bool reacts = policy_ == EvictionPolicy::kHybrid || policy_ == EvictionPolicy::kAdaptive;
  return reacts && monitor_.thrash().alarm() && ++admissions_ % kAdmissionInterval != 0;
}

PageScore ChainIndex::score_of(const Node* node) const {
  if (!node->in_memory()) return {.rank = kAbsentRank};
  return page_score(policy_, node->worth(), bonus_.s);
}

// All scores in the queue use one bonus. When the cache has learned another bonus, the queue is
// rebuilt, but only after a good part of the queue has been evicted: that keeps the cost of an
// eviction logarithmic.
void ChainIndex::follow_bonus() {
  const double learned_s = monitor_.bonus_s(policy_);
  const bool differs = std::fabs(learned_s - bonus_.s) > kBonusStep * bonus_.s;
  if (!differs || ++bonus_.evictions * kQueueShare < evictable_leaves_.size()) return;
  bonus_ = {learned_s, 0};
  std::multimap<PageScore, Node*> leaves;
  for (const auto& [score, node] : evictable_leaves_) {
    node->queued = leaves.emplace(score_of(node), node);
  }
  evictable_leaves_ = std::move(leaves);
}

bool ChainIndex::evict_one() {
  if (evictable_leaves_.empty()) {
    if (spillable_.empty()) return false;
    // Dense attention reads a chain from its beginning, so its last pages are spilled first. Of a
    // chain that selects, the latest pages stay as long as others can be spilled.
    const auto may_leave = [this](const auto& spillable) {
      const Node* const last = find(spillable.second);
      const bool selects = tenants_[last->tenant].mode.selected > 0;
      return !selects || has_descendants(last, kSelectRecentPages);
    };
    const auto last = std::find_if(spillable_.rbegin(), spillable_.rend(), may_leave);
    Node* const node = find((last == spillable_.rend() ? spillable_.rbegin() : last)->second);
    if (!node->lease) monitor_.evicted(node->key, node->worth());
    spill(node);
    return true;
  }
  follow_bonus();
  Node* node = evictable_leaves_.begin()->second;
  while (!node->ending_holds.empty()) drop_hold(node->ending_holds.back());
  monitor_.evicted(node->key, node->worth());
  remove(node, Removal::kEvicted);
  prune_absent();
  return true;
}

void ChainIndex::enqueue_if_leaf(Node* node) {
  const bool evictable =
      node->parent != nullptr && !node->queued && !node->locked() && node->children.empty();
  if (evictable) node->queued = evictable_leaves_.emplace(score_of(node), node);
}

// Removes absent nodes that nobody uses and that nothing continues from. Pointers to such nodes are
// invalid afterwards.
void ChainIndex::prune_absent() {
  while (!evictable_leaves_.empty() && !evictable_leaves_.begin()->second->in_memory()) {
    remove(evictable_leaves_.begin()->second, Removal::kEvicted);
  }
}

void ChainIndex::dequeue(Node* node) {
  if (!node->queued) return;
  evictable_leaves_.erase(*node->queued);
  node->queued.reset();
}

void ChainIndex::requeue(Node* node) {
  if (!node->queued) return;
  dequeue(node);
  enqueue_if_leaf(node);
}

void ChainIndex::remove(Node* node, Removal why) {
  CHECK(!node->locked() && !node->held() && node->children.empty());
  dequeue(node);
  ++counts_.losses;
  // A page that was given up earlier is not removed now.
  const bool was_given_up = node->windowed && !node->in_memory();
  if (!was_given_up) removals_.add(node->parent->key, node->tenant, node->tokens, why);
  by_key_.erase(node->key);
  if (node->in_memory()) {
    pool_.release(node->page);
    count_memory(node, -1);
  }
  if (node->lease) unused_leases_.push_back(*node->lease);
  if (!was_given_up) ++removed_[static_cast<size_t>(why)];
  Node* parent = node->parent;
  parent->children.erase(parent->children.find(ChildKey{node->tenant, node->tokens}));
  enqueue_if_leaf(parent);
}

}  // namespace cascade
