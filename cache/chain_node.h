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
  std::vector<int32_t> tokens;
  PageIndex page = 0;
  Digest key;
  int64_t position = 0;  // of the first token
  int64_t last_used_us = 0;
  int64_t hits = 0;
  bool on_probation = false;
  int users = 0;                       // running sequences through this node
  int readers = 0;                     // of these, those that can do without its memory
  std::optional<uint32_t> lease = {};  // where the page is on disk
  int pins = 0;                        // pinned chains through this node
  std::vector<std::pair<int32_t, int>> priorities;  // (priority, holds of it through this node)
  std::vector<HoldId> ending_holds;
  std::set<std::unique_ptr<Node>, ChildLess> children;
  // the node's place among the evictable leaves
  std::optional<std::multimap<PageScore, Node*>::iterator> queued;

  bool full() const { return tokens.size() == kPageTokens; }
  bool locked() const { return users + pins > 0; }
  bool in_memory() const { return cascade::in_memory(page); }
  bool only_read() const { return users > 0 && users == readers && pins == 0; }
  bool held() const { return !priorities.empty(); }
  PageWorth worth() const {
    int32_t priority = held() ? kPriorityMin : kPriorityNormal;
    for (const auto& [held, count] : priorities) priority = std::max(priority, held);
    return {priority, on_probation, last_used_us, hits, position};
  }
};

inline bool starts_with(std::span<const int32_t> tokens, std::span<const int32_t> prefix) {
  return tokens.size() >= prefix.size() && common_prefix(tokens, prefix) == prefix.size();
}

}  // namespace cascade
