// Which chains of tokens have their K and V in pages: a tree whose nodes are pages.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "cache/kv_view.h"
#include "cache/page_pool.h"

namespace cascade {

// A node is one page of one chain: up to 64 tokens, at the position that its depth gives. Children
// are found by comparing token ids, never a hash, so that no collision can serve another chain's K
// and V. Its chain key, SHA-256(parent key, token ids), names the page outside this process. Nodes
// with fewer than 64 tokens (the end of a chain) have no children; the tokens of any node can be
// reused in part by copying its page.
//
// The index owns one reference to each node's page. Only leaves that nobody uses are evicted, so a
// chain is lost from its end. One thread.
class ChainIndex {
 public:
  struct Node;
  using HoldId = uint64_t;

  // `root_key` digests everything that K and V depend on besides tokens: tenant, weights, types,
  // layout and numerics versions.
  ChainIndex(const Digest& root_key, PagePool& pool);
  ~ChainIndex();
  ChainIndex(const ChainIndex&) = delete;
  ChainIndex& operator=(const ChainIndex&) = delete;

  // The longest part of `tokens` that is in pages.
  struct Match {
    Node* node = nullptr;          // the last whole page of the chain, or the root
    std::vector<PageIndex> pages;  // of the chain down to `node`
    Node* partial = nullptr;       // a page whose first `partial_tokens` tokens come next
    int partial_tokens = 0;        // in [1, 63]; 0 if there is none
    int64_t tokens() const {
      return static_cast<int64_t>(pages.size()) * kPageTokens + partial_tokens;
    }
  };
  // Changes nothing; a following acquire() keeps the nodes alive.
  Match match(std::span<const int32_t> tokens) const;

  // Marks `node` and its ancestors as used by a running sequence; release() undoes it once.
  void acquire(Node* node);
  void release(Node* node);
  // Moves one acquired use from the parent of `child` to `child` itself.
  void extend(Node* child);
  // Nodes from `node` up to the root that no running sequence uses: what acquire() would take out
  // of evictable_count().
  size_t unused_count(const Node* node) const;
  // Counts a hit at `now_us` on `node` and its ancestors.
  void touch(Node* node, int64_t now_us);

  Node* root() const { return root_.get(); }
  static PageIndex page_of(const Node* node);
  static const Digest& key_of(const Node* node);

  // Adds the page that holds `tokens` (1..64 of them) behind `parent`, which must be full (or the
  // root). If that chain is there already, the node found keeps its own page and counts as used at
  // `now_us`; else the index takes a reference to `page`. A shorter node with the same beginning is
  // replaced, its holds move. Returns the node; its page is page_of(node).
  Node* insert(Node* parent, std::span<const int32_t> tokens, PageIndex page, int64_t now_us);

  // Keeps the chain `tokens` in the class of retained pages until drop_hold(), or until one of its
  // pages is evicted all the same. nullopt if the index does not have the whole chain.
  std::optional<HoldId> hold(std::span<const int32_t> tokens);
  // False once a page of the chain was evicted.
  bool is_held(HoldId hold) const { return holds_.contains(hold); }
  void drop_hold(HoldId hold);

  // Removes the part of the chain `tokens` behind its first `keep` tokens, as far as nobody uses or
  // holds it: for branches that no later request can reach. A page that token `keep` lies within
  // goes as well if another page has the tokens before it. Returns the number of nodes removed.
  size_t drop_branch(std::span<const int32_t> tokens, int64_t keep);

  // Evicts the leaf of lowest score (cache/eviction.h). False if every page is in use.
  bool evict_one();

  // Pages that evict_one() could free one after the other.
  size_t evictable_count() const { return node_count_ - used_count_; }
  size_t node_count() const { return node_count_; }
  uint64_t evicted_count() const { return evicted_count_; }

 private:
  Node* child_with_prefix(const Node* parent, std::span<const int32_t> tokens) const;
  bool sibling_has(const Node* node, int64_t count) const;
  void absorb_shorter(Node* longer);
  void enqueue_if_leaf(Node* node);
  void dequeue(Node* node);
  void requeue(Node* node);
  void remove(Node* node);

  PagePool& pool_;
  std::unique_ptr<Node> root_;
  std::unordered_map<HoldId, Node*> holds_;        // to the last node of the chain
  std::multimap<double, Node*> evictable_leaves_;  // by score
  HoldId next_hold_ = 1;
  size_t node_count_ = 0;  // without the root
  size_t used_count_ = 0;  // nodes on the path of a running sequence
  uint64_t evicted_count_ = 0;
};

}  // namespace cascade
