// A node of the chain tree, for the files that implement it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "cache/chain_index.h"

namespace cascade {

// Children are ordered and found by tenant, then word by word; a beginning comes before its
// continuations. So the neighbours of the place that a look-up finds are the children with the
// longest common beginning.
struct ChildKey {
  TenantId tenant;
  std::span<const int32_t> tokens;
};

struct ChildLess {
  using is_transparent = void;
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return less(key(a), key(b));
  }

 private:
  static const ChildKey& key(const ChildKey& key) { return key; }
  template <class Owner>
  static ChildKey key(const Owner& node) {
    return {node->tenant, node->tokens};
  }
  static bool less(const ChildKey& a, const ChildKey& b) {
    if (a.tenant != b.tenant) return a.tenant < b.tenant;
    return std::lexicographical_compare(a.tokens.begin(), a.tokens.end(), b.tokens.begin(),
                                        b.tokens.end());
  }
};

struct ChainIndex::Node {
  Node* parent = nullptr;
  TenantId tenant = kPublic;
  bool windowed = false;  // the tenant's tokens see only the first and the latest pages
  std::vector<int32_t> tokens;
  PageIndex page = 0;
  Digest key;
  int64_t position = 0;  // of the first token
  TakenOut taken_out;    // in an approximate chain
  int64_t last_used_us = 0;
  int64_t hits = 0;
  bool on_probation = false;
  int users = 0;  // running sequences through this node, and pins that look away from it
  // Those of its users that can do without its memory: they read it from disk, or look away.
  int readers = 0;
  std::optional<uint32_t> lease = {};  // where the page is on disk
  int pins = 0;  // pinned chains through this node, without those that look away
  std::vector<std::pair<int32_t, int>> priorities;  // (priority, holds of it through this node)
  std::vector<HoldId> ending_holds;
  std::set<std::unique_ptr<Node>, ChildLess> children;
  // the node's place among the evictable leaves
  std::optional<std::multimap<PageScore, Node*>::iterator> queued;

  bool full() const { return tokens.size() == kPageTokens; }
  bool locked() const { return users + pins > 0; }
  bool in_memory() const { return cascade::in_memory(page); }
  bool only_read() const { return users > 0 && users == readers && pins == 0; }
  bool only_seen() const { return windowed && users > readers && pins == 0; }
  bool held() const { return !priorities.empty(); }
  PageWorth worth() const {
    int32_t priority = held() ? kPriorityMin : kPriorityNormal;
    for (const auto& [held, count] : priorities) priority = std::max(priority, held);
    return {priority, on_probation, last_used_us, hits, position};
  }
};

// The place of the node's page in its chain.
inline int64_t page_number(const ChainIndex::Node* node) {
  return node->position / kPageTokens;
}

inline bool starts_with(std::span<const int32_t> tokens, std::span<const int32_t> prefix) {
  return tokens.size() >= prefix.size() && common_prefix(tokens, prefix) == prefix.size();
}

// A child of `tenant` that begins with `tokens`, or nullptr.
ChainIndex::Node* child_with_prefix(const ChainIndex::Node* parent, TenantId tenant,
                                    std::span<const int32_t> tokens);

struct ChildMatch {
  ChainIndex::Node* node = nullptr;
  size_t tokens = 0;  // that it has in common with the page; 0 if there is no such child
};
// The child of `parent` that belongs to `tenant`, has the longest beginning in common with `page`,
// and is `usable(child, tokens)` for that many tokens.
template <class Usable>
ChildMatch closest_child(const ChainIndex::Node* parent, TenantId tenant,
                         std::span<const int32_t> page, const Usable& usable) {
  ChildMatch best;
  const auto consider = [&](auto it) {
    if ((*it)->tenant != tenant) return;
    const size_t shared = common_prefix((*it)->tokens, page);
    if (shared > best.tokens && usable(it->get(), shared)) best = {it->get(), shared};
  };
  const auto after = parent->children.lower_bound(ChildKey{tenant, page});
  if (after != parent->children.end()) consider(after);
  if (after != parent->children.begin()) consider(std::prev(after));
  return best;
}

// ChainIndex::match() for a tenant whose tokens see what `mode` says. Pages that no token after the
// match sees may be without memory.
ChainIndex::Match match_window(ChainIndex::Node* root, TenantId tenant,
                               std::span<const int32_t> tokens, const AttentionMode& mode);

}  // namespace cascade
