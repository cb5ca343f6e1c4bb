// The chain tree: which leaf is evicted first.
#include <cmath>

#include "base/check.h"
#include "cache/chain_node.h"

namespace cascade {
namespace {

// While the cache thrashes, only one new sequence in this many is admitted without probation.
constexpr uint64_t kAdmissionInterval = 32;

// A relative change of the bonus below this leaves nearly all pages in the same order.
constexpr double kBonusStep = 0.1;
constexpr size_t kQueueShare = 4;

}  // namespace

bool ChainIndex::next_on_probation() {
  const bool reacts = policy_ == EvictionPolicy::kHybrid || policy_ == EvictionPolicy::kAdaptive;
  return reacts && monitor_.thrash().alarm() && ++admissions_ % kAdmissionInterval != 0;
}

PageScore ChainIndex::score_of(const Node* node) const {
  return page_score(policy_, node->worth(), bonus_s_);
}

// All scores in the queue use one bonus. When the cache has learned another bonus, the queue is
// rebuilt, but only after a good part of the queue has been evicted: that keeps the cost of an
// eviction logarithmic.
void ChainIndex::follow_bonus() {
  const double learned_s = monitor_.bonus_s(policy_);
  const bool differs = std::fabs(learned_s - bonus_s_) > kBonusStep * bonus_s_;
  if (!differs || ++evictions_at_bonus_ * kQueueShare < evictable_leaves_.size()) return;
  bonus_s_ = learned_s;
  evictions_at_bonus_ = 0;
  std::multimap<PageScore, Node*> leaves;
  for (const auto& [score, node] : evictable_leaves_) {
    node->queued = leaves.emplace(score_of(node), node);
  }
  evictable_leaves_ = std::move(leaves);
}

bool ChainIndex::evict_one() {
  if (evictable_leaves_.empty()) return false;
  follow_bonus();
  Node* node = evictable_leaves_.begin()->second;
  while (!node->ending_holds.empty()) drop_hold(node->ending_holds.back());
  monitor_.evicted(node->key, node->worth());
  remove(node, Removal::kEvicted);
  return true;
}

void ChainIndex::enqueue_if_leaf(Node* node) {
  const bool evictable =
      node->parent != nullptr && !node->queued && !node->locked() && node->children.empty();
  if (evictable) node->queued = evictable_leaves_.emplace(score_of(node), node);
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
  removals_.add(node->parent->key, node->tenant, node->tokens, why);
  by_key_.erase(node->key);
  pool_.release(node->page);
  --node_count_;
  --tenants_[node->tenant].nodes;
  ++removed_[static_cast<size_t>(why)];
  Node* parent = node->parent;
  parent->children.erase(parent->children.find(ChildKey{node->tenant, node->tokens}));
  enqueue_if_leaf(parent);
}

}  // namespace cascade
