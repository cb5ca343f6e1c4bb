// The chain tree. Children are ordered by their tokens, so that the neighbours of a look-up are the
// children with the longest common beginning.
#include "cache/chain_index.h"

#include <algorithm>

#include "base/check.h"
#include "cache/eviction.h"

namespace cascade {
namespace {

using Tokens = std::span<const int32_t>;

// Compares token sequences word by word, a beginning before its continuations.
struct TokensLess {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

size_t common_prefix(Tokens a, Tokens b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

bool starts_with(Tokens tokens, Tokens prefix) {
  return tokens.size() >= prefix.size() && common_prefix(tokens, prefix) == prefix.size();
}

}  // namespace

struct ChainIndex::Node {
  Node* parent = nullptr;
  std::vector<int32_t> tokens;
  PageIndex page = 0;
  Digest key;
  int64_t position = 0;  // of the first token
  int64_t last_used_us = 0;
  int64_t hits = 0;
  int users = 0;  // running sequences whose path this is on
  int holds = 0;  // retained chains whose path this is on
  std::vector<HoldId> ending_holds;
  std::map<std::vector<int32_t>, std::unique_ptr<Node>, TokensLess> children;
  std::optional<std::multimap<double, Node*>::iterator> queued;  // among the evictable leaves

  bool full() const { return tokens.size() == kPageTokens; }
  double score() const { return page_score({holds > 0, last_used_us, hits, position}); }
};

ChainIndex::ChainIndex(const Digest& root_key, PagePool& pool)
    : pool_(pool), root_(std::make_unique<Node>()) {
  root_->key = root_key;
}

// Without recursion: a chain of a million tokens is 16,000 nodes deep.
ChainIndex::~ChainIndex() {
  std::vector<std::unique_ptr<Node>> pending;
  pending.push_back(std::move(root_));
  while (!pending.empty()) {
    const std::unique_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    for (auto& [tokens, child] : node->children) pending.push_back(std::move(child));
  }
}

PageIndex ChainIndex::page_of(const Node* node) {
  CHECK(node->parent != nullptr);
  return node->page;
}

const Digest& ChainIndex::key_of(const Node* node) {
  return node->key;
}

ChainIndex::Match ChainIndex::match(std::span<const int32_t> tokens) const {
  Match match;
  match.node = root_.get();
  while (!tokens.empty()) {
    const Tokens page = tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
    const auto& children = match.node->children;
    const auto after = children.lower_bound(page);
    Node* best = nullptr;
    size_t best_tokens = 0;
    const auto consider = [&](auto it) {
      const size_t shared = common_prefix(it->second->tokens, page);
      if (shared > best_tokens) {
        best = it->second.get();
        best_tokens = shared;
      }
    };
    if (after != children.end()) consider(after);
    if (after != children.begin()) consider(std::prev(after));
    if (best_tokens < kPageTokens) {
      match.partial = best;
      match.partial_tokens = static_cast<int>(best_tokens);
      return match;
    }
    match.node = best;
    match.pages.push_back(best->page);
    tokens = tokens.subspan(kPageTokens);
  }
  return match;
}

void ChainIndex::acquire(Node* node) {
  for (; node->parent != nullptr; node = node->parent) {
    if (node->users++ > 0) continue;
    ++used_count_;
    dequeue(node);
  }
}

void ChainIndex::release(Node* node) {
  for (; node->parent != nullptr; node = node->parent) {
    CHECK(node->users > 0);
    if (--node->users > 0) continue;
    --used_count_;
    enqueue_if_leaf(node);
  }
}

void ChainIndex::extend(Node* child) {
  CHECK(child->parent->parent == nullptr || child->parent->users > 0);
  if (child->users++ > 0) return;
  ++used_count_;
  dequeue(child);
}

size_t ChainIndex::unused_count(const Node* node) const {
  size_t count = 0;
  // The users of a node use its ancestors as well.
  for (; node->parent != nullptr && node->users == 0; node = node->parent) ++count;
  return count;
}

void ChainIndex::touch(Node* node, int64_t now_us) {
  for (; node->parent != nullptr; node = node->parent) {
    node->last_used_us = now_us;
    ++node->hits;
    requeue(node);
  }
}

// A child whose tokens begin with `tokens`, or nullptr.
ChainIndex::Node* ChainIndex::child_with_prefix(const Node* parent, Tokens tokens) const {
  const auto found = parent->children.lower_bound(tokens);
  if (found == parent->children.end()) return nullptr;
  return starts_with(found->second->tokens, tokens) ? found->second.get() : nullptr;
}

ChainIndex::Node* ChainIndex::insert(Node* parent, Tokens tokens, PageIndex page, int64_t now_us) {
  CHECK(!tokens.empty() && tokens.size() <= kPageTokens);
  CHECK(parent->parent == nullptr || parent->full());
  if (Node* present = child_with_prefix(parent, tokens)) {
    present->last_used_us = std::max(present->last_used_us, now_us);
    requeue(present);
    return present;
  }
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->parent = parent;
  node->tokens.assign(tokens.begin(), tokens.end());
  node->page = page;
  node->key = Hasher().field("parent", parent->key).field("tokens", tokens).finish();
  node->position = parent->parent == nullptr ? 0 : parent->position + kPageTokens;
  node->last_used_us = now_us;
  pool_.retain(page);
  dequeue(parent);
  parent->children.emplace(node->tokens, std::move(owned));
  ++node_count_;
  absorb_shorter(node);
  enqueue_if_leaf(node);
  return node;
}

// Siblings that `longer` continues are of no use beside it: their holds move over.
void ChainIndex::absorb_shorter(Node* longer) {
  auto& siblings = longer->parent->children;
  auto it = siblings.find(longer->tokens);
  while (it != siblings.begin()) {
    Node* shorter = std::prev(it)->second.get();
    if (!starts_with(longer->tokens, shorter->tokens) || shorter->users > 0) return;
    longer->holds += shorter->holds;
    longer->hits = std::max(longer->hits, shorter->hits);
    for (const HoldId id : shorter->ending_holds) {
      holds_[id] = longer;
      longer->ending_holds.push_back(id);
    }
    shorter->holds = 0;
    shorter->ending_holds.clear();
    remove(shorter);
    it = siblings.find(longer->tokens);
  }
}

std::optional<ChainIndex::HoldId> ChainIndex::hold(Tokens tokens) {
  Node* node = root_.get();
  while (!tokens.empty()) {
    const Tokens page = tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
    node = child_with_prefix(node, page);
    if (node == nullptr) return std::nullopt;
    tokens = tokens.subspan(page.size());
  }
  const HoldId id = next_hold_++;
  holds_[id] = node;
  node->ending_holds.push_back(id);
  for (; node->parent != nullptr; node = node->parent) {
    ++node->holds;
    requeue(node);
  }
  return id;
}

void ChainIndex::drop_hold(HoldId hold) {
  const auto found = holds_.find(hold);
  if (found == holds_.end()) return;
  Node* node = found->second;
  holds_.erase(found);
  std::erase(node->ending_holds, hold);
  for (; node->parent != nullptr; node = node->parent) {
    --node->holds;
    requeue(node);
  }
}

// Whether a sibling of `node` has the first `count` tokens of it, too.
bool ChainIndex::sibling_has(const Node* node, int64_t count) const {
  const Tokens prefix = Tokens(node->tokens).first(static_cast<size_t>(count));
  const auto& siblings = node->parent->children;
  const auto self = siblings.find(node->tokens);
  const auto after = std::next(self);
  return (after != siblings.end() && starts_with(after->first, prefix)) ||
         (self != siblings.begin() && starts_with(std::prev(self)->first, prefix));
}

size_t ChainIndex::drop_branch(Tokens tokens, int64_t keep) {
  Node* node = root_.get();
  while (!tokens.empty()) {
    const Tokens page = tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
    const auto found = node->children.find(page);
    if (found == node->children.end()) break;
    node = found->second.get();
    tokens = tokens.subspan(page.size());
  }
  size_t removed = 0;
  while (node->parent != nullptr && node->children.empty() && node->users == 0 &&
         node->holds == 0) {
    const int64_t kept = std::max<int64_t>(keep - node->position, 0);
    if (kept >= static_cast<int64_t>(node->tokens.size())) break;
    if (kept > 0 && !sibling_has(node, kept)) break;
    Node* parent = node->parent;
    remove(node);
    ++removed;
    node = parent;
  }
  return removed;
}

bool ChainIndex::evict_one() {
  if (evictable_leaves_.empty()) return false;
  Node* node = evictable_leaves_.begin()->second;
  while (!node->ending_holds.empty()) drop_hold(node->ending_holds.back());
  remove(node);
  ++evicted_count_;
  return true;
}

void ChainIndex::enqueue_if_leaf(Node* node) {
  if (node->parent == nullptr || node->queued || node->users > 0 || !node->children.empty()) return;
  node->queued = evictable_leaves_.emplace(node->score(), node);
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

void ChainIndex::remove(Node* node) {
  CHECK(node->users == 0 && node->holds == 0 && node->children.empty());
  dequeue(node);
  pool_.release(node->page);
  --node_count_;
  Node* parent = node->parent;
  parent->children.erase(parent->children.find(node->tokens));
  enqueue_if_leaf(parent);
}

}  // namespace cascade
