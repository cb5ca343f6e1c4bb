// Which chains of tokens have their K and V in pages: a tree whose nodes are pages.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/miss.h"
#include "cache/attention_pages.h"
#include "cache/kv_view.h"
#include "cache/page_pool.h"
#include "cache/removal_log.h"
#include "cache/reuse_monitor.h"

namespace cascade {

// Says who may find a page. Pages of kPublic are found by every tenant.
using TenantId = uint32_t;
inline constexpr TenantId kPublic = 0;

// The number of tokens that `a` and `b` have in common at their beginnings.
inline size_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Describes the approximate part of a chain from which tokens were taken out (Approximation).
struct TakenOut {
  int64_t begin = 0;  // the first token whose K and V are approximations
  // Positions that have no token: `free` of them come before the token `free_begin` and all later
  // ones. Only with Approximation::kMask.
  int64_t free = 0;
  int64_t free_begin = 0;
};

// A node is one page of one chain: up to 64 tokens, at the position that its depth gives. Children
// are found by comparing token ids, never a hash, so that no collision can serve another chain's K
// and V. The chain key of a node, SHA-256(parent key, token ids), names the page outside this
// process. Nodes with fewer than 64 tokens (the end of a chain) have no children. The tokens of any
// node can be reused in part by copying its page.
//
// Every node belongs to a tenant or is public. A chain begins with public nodes, or none, and
// continues with nodes of one tenant. A look-up never sees the nodes of another tenant. One kind of
// tenant has a *base*, which is a dense tenant: its mode is an approximation
// (AttentionMode::approximation). Its chains begin with nodes that the base finds, or none, and
// continue with its own, which a look-up of the base never sees.
//
// The index owns one reference to each page in memory that a node has. Only leaves that nobody uses
// or pins are evicted, so a chain loses its end first.
//
// A node may be *absent*: its page is not in memory but on disk, under a lease. Pages become absent
// when they are spilled, which only happens to pages that nobody but *readers* uses: sequences that
// are longer than memory. When nobody uses an absent node and nothing continues from it, it is
// removed.
//
// A tenant may have an attention mode that is not dense. Its chains never begin with public nodes,
// which are dense. If the mode has a window, its tokens see only the first and the latest pages of
// their chain. A sequence of such a tenant *looks away* from pages that its later tokens
// do not see (unseen_behind()), and so does a pin. A page that all its users look away from can be
// spilled without a lease: its node stays, without K and V. One thread.
class ChainIndex {
 public:
  struct Node;
  using HoldId = uint64_t;

  // `root_key` digests everything that K and V depend on besides tokens: weights, types, layout and
  // numerics versions.
  ChainIndex(const Digest& root_key, PagePool& pool,
             EvictionPolicy policy = EvictionPolicy::kHybrid);
  ~ChainIndex();
  ChainIndex(const ChainIndex&) = delete;
  ChainIndex& operator=(const ChainIndex&) = delete;

  // Adds a tenant; `key` becomes part of the chain keys of its nodes. A window is at least a page.
  // The chains of a tenant whose mode is an approximation begin like those of `exact`, its base.
  TenantId add_tenant(const Digest& key, const AttentionMode& mode = {}, TenantId exact = kPublic);
  struct Tenant {
    Digest key;
    AttentionMode mode = {};
    TenantId base = kPublic;
    size_t nodes = 0;   // in memory
    size_t pinned = 0;  // of these
  };
  const Tenant& tenant(TenantId id) const { return tenants_[id]; }

  // Which nodes a look-up finds. A lost page is never found. It makes no difference to a tenant
  // with a window, whose chains are found where all pages are in memory that the next tokens see.
  enum class Where {
    kMemory,    // up to the first absent node
    kAnywhere,  // absent nodes, too
  };
  // The longest beginning of `tokens` whose K and V are in pages.
  struct Match {
    Node* node = nullptr;  // the last whole page of the chain, or the root
    // The pages of the chain down to `node`. With kAnywhere some may be leased; of a tenant with a
    // window those that no later token sees may be kLostPage.
    std::vector<PageIndex> pages;
    Node* partial = nullptr;  // a page whose first `partial_tokens` tokens come next
    int partial_tokens = 0;   // in [1, 63]; 0 if there is none
    Node* last() const { return partial != nullptr ? partial : node; }
    int64_t tokens() const {
      return static_cast<int64_t>(pages.size()) * kPageTokens + partial_tokens;
    }
  };
  // Looks at pages of `tenant`, of its base and at public ones. Changes nothing; a following
  // acquire() keeps the nodes alive.
  Match match(TenantId tenant, std::span<const int32_t> tokens, Where where = Where::kMemory) const;
  // Returns why match() does not find all of `tokens`, as far as that is known: from the log of
  // removed pages or else from the pages that exist in their place. kNone if match() finds all.
  Miss explain(TenantId tenant, std::span<const int32_t> tokens,
               Where where = Where::kMemory) const;

  // How a sequence uses the nodes of its chain.
  enum class Use {
    kMemory,  // they stay in memory
    kReader,  // they stay, in memory or on disk
  };
  // Marks `node` and its ancestors as used by a running sequence, which looks away from `unseen`.
  // release() undoes it once; its `unseen` are all pages that the sequence looks away from then.
  void acquire(Node* node, Use use = Use::kMemory, const PageRange& unseen = {});
  void release(Node* node, Use use = Use::kMemory, const PageRange& unseen = {});
  // A sequence that has acquired `node` looks away from these pages, too, which come before `node`
  // or are its own. They stay in memory until somebody needs the room, except those in `given_up`
  // that nothing suggests another sequence will want. Precondition: the sequence looks away from
  // all of `given_up`, which does not begin after `pages`.
  void look_away(Node* node, const PageRange& pages, const PageRange& given_up);
  // Moves one acquired use from the parent of `child` to `child` itself.
  void extend(Node* child, Use use = Use::kMemory);

  // The page is on disk, under this lease, which the index owns from now on.
  void set_lease(Node* node, uint32_t lease);
  // Frees the node's memory: it is absent from now on. Drops the holds of all chains that see it.
  // Precondition: can_spill().
  void spill(Node* node);
  // The absent page could not be read: it is lost until insert() is given a page for it.
  void lose(Node* node);
  // Returns leases that the index does not need any more, since the last call. With `of_idle`, the
  // pages in memory that come after absent ones are evicted first, as far as nobody uses them: so
  // the index does not need the leases of these absent pages either.
  std::vector<uint32_t> take_unused_leases(bool of_idle = false);
  // The number of nodes from `node` up to the root that could be evicted or spilled now, and no
  // more after acquire(node, use).
  size_t taken_by(const Node* node, Use use = Use::kMemory) const;
  // Counts a hit at `now_us` on `node` and its ancestors. Call it once for each request that was
  // served. `observed` is false for other uses, which say nothing about how well the cache works.
  void touch(Node* node, int64_t now_us, bool observed = true);

  Node* root() const { return root_.get(); }
  // The node with this chain key, or nullptr.
  Node* find(const Digest& key) const;
  // The name of a page outside the process, and its content. `tokens` lives as long as the node.
  struct PageName {
    Digest key;
    Digest parent;  // of the page before it, or the root key
    TenantId owner;
    int64_t position;  // of the first token
    std::span<const int32_t> tokens;
    int64_t hits;
  };
  // Adds the page that holds `tokens` (1..64 of them) after `parent`, which must be full (or the
  // root), and public or of the same tenant or its base. `page` may be a leased one. If a node has
  // these tokens already, it counts as used at `now_us`, and keeps its own page unless only `page`
  // is in memory. A longer node in memory does as well. Otherwise the index takes a reference to
  // `page`, and a shorter node with the same beginning is replaced; its holds move. `on_probation`:
  // see next_on_probation(). `taken_out`: of an approximate chain, as its last token has it.
  // Returns the node; its page is page_of(node).
  Node* insert(Node* parent, TenantId tenant, std::span<const int32_t> tokens, PageIndex page,
               int64_t now_us, bool on_probation = false, const TakenOut& taken_out = {});

  // Whether the pages that a sequence starting now computes are on probation: evicted first until a
  // request has found them. With kHybrid and kAdaptive this holds for 31 of 32 sequences while the
  // cache thrashes. The older pages then stay and are hit, instead of each being evicted shortly
  // before its next use. The 32nd sequence lets a new working set replace an old one (bimodal
  // insertion, Qureshi et al. 2007).
  bool next_on_probation();

  // Gives the pages of the chain `tokens` a priority (cache/eviction.h), until drop_hold() or until
  // one of them is evicted nevertheless. If a page has several holds, the highest priority counts.
  // nullopt if the index does not have the whole chain.
  std::optional<HoldId> hold(TenantId tenant, std::span<const int32_t> tokens,
                             int32_t priority = kPriorityRetained);
  // False once a page of the chain was evicted.
  bool is_held(HoldId hold) const { return holds_.contains(hold); }
  void drop_hold(HoldId hold);
  // Does nothing if the chain is not held.
  void set_priority(HoldId hold, int32_t priority);
  // Keeps the chain's pages from eviction; of a tenant with a window those that a sequence sees
  // which goes on from the chain's end. Does nothing if the chain is not held.
  void pin(HoldId hold);
  void unpin(HoldId hold);
  bool is_pinned(HoldId hold) const;
  // The number of pages of the chain that are in memory and that no pin keeps yet: what pin() would
  // add to pinned_count().
  size_t unpinned_count(HoldId hold) const;

  // Removes the part of the chain `tokens` after its first `keep` tokens, as far as nobody uses or
  // holds it: for branches that no later request can reach. The page that contains token `keep` is
  // also removed if another page has the same tokens before token `keep`; holds of these tokens
  // move to that other page, unless it is one of an approximation. Returns the number of nodes
  // removed.
  size_t drop_branch(TenantId tenant, std::span<const int32_t> tokens, int64_t keep,
                     Removal why = Removal::kDead);

  // Removes every page of `tenant` that contains a token of `tokens` after the first `keep` (a
  // multiple of 64), and all chains that continue from there, as far as nobody uses or holds them.
  // This includes pages that contain only a part of the last page of `tokens`. With `holds`, such
  // pages stay, and all holds on the pages to remove are dropped, whoever owns them; is_held()
  // tells which. A page that stays only because holds end in it keeps only the tokens that they
  // need. Returns the number of nodes removed.
  size_t drop_subtree(TenantId tenant, std::span<const int32_t> tokens, int64_t keep, Removal why,
                      bool holds = false);

  // Called for each page that drop_branch() or drop_subtree() shortened, or whose holds they moved.
  // `after` is the chain key under which the rest of the page is found now.
  using Shortened = std::function<void(const Digest& before, const Digest& after)>;
  void set_shortened(Shortened shortened) { shortened_ = std::move(shortened); }

  // Evicts the leaf of lowest score (cache/eviction.h). If there is none, spills the page with the
  // highest position: attention reads a chain from its first page on, so the last pages make room
  // for one another, and the first ones stay. False if every page is in use or pinned.
  bool evict_one();

  EvictionPolicy policy() const { return policy_; }
  // The number of pages that evict_one() could evict one after the other, without spilling any.
  size_t evictable_count() const { return counts_.nodes - counts_.locked; }
  // The number of further pages that can be spilled.
  size_t spillable_count() const { return spillable_.size(); }
  // The number of pages that sequences with a window see and that no pin keeps. Several sequences
  // may see a page, and each looks away from it at another time.
  size_t seen_count() const { return counts_.seen; }
  size_t node_count() const { return counts_.nodes; }  // in memory
  size_t pinned_count() const { return counts_.pinned; }
  size_t held_count() const { return counts_.held; }  // in memory, on the path of a hold
  uint64_t removed_count(Removal why) const { return removed_[static_cast<size_t>(why)]; }
  // How many times a node was removed or shortened, for whatever reason.
  uint64_t losses() const { return counts_.losses; }
  const ReuseMonitor& monitor() const { return monitor_; }

 private:
  struct Hold {
    Node* node;     // the last of the chain
    size_t tokens;  // how many tokens of `node` belong to the chain
    int32_t priority;
    PageRange unseen;  // what a sequence looks away from that goes on from the chain's end
    bool pinned = false;
  };
  struct Counts {
    size_t nodes = 0;   // in memory, without the root
    size_t locked = 0;  // of these, nodes on the path of a running sequence or a pin
    size_t pinned = 0;
    size_t held = 0;
    size_t seen = 0;      // see seen_count()
    uint64_t losses = 0;  // see losses()
  };
  // The bonus in the scores of the queue.
  struct Bonus {
    double s = 0;
    size_t evictions = 0;  // since the learned bonus first differed
  };

  Match match_approximate(TenantId tenant, std::span<const int32_t> tokens, Where where) const;
  void absorb_shorter(Node* longer);
  void move_hold(HoldId id, Node* longer);
  bool drop_unneeded(Node* node, Removal why);
  // The uses and pins that lock a node and its ancestors.
  struct Locks {
    int users = 0;
    int readers = 0;
    int pins = 0;
  };
  void add_locks(Node* node, const Locks& locks);
  void lock(Node* node, const Locks& locks, const PageRange& unseen);
  void unlock(Node* node, const Locks& locks, const PageRange& unseen);
  void count_memory(const Node* node, int count);
  void note_spillable(const Node* node);
  void put_into_memory(Node* node, PageIndex page);
  void add_priority(Node* node, int32_t priority, int count);
  PageScore score_of(const Node* node) const;
  void enqueue_if_leaf(Node* node);
  void prune_absent();
  void dequeue(Node* node);
  void requeue(Node* node);
  void follow_bonus();
  void remove(Node* node, Removal why);

  PagePool& pool_;
  const EvictionPolicy policy_;
  ReuseMonitor monitor_;
  RemovalLog removals_;
  Shortened shortened_ = [](const Digest&, const Digest&) {};
  std::unique_ptr<Node> root_;
  std::vector<Tenant> tenants_;  // by id
  std::unordered_map<HoldId, Hold> holds_;
  std::unordered_map<Digest, Node*> by_key_;          // without the root
  std::multimap<PageScore, Node*> evictable_leaves_;  // by score when queued
  Bonus bonus_;
  HoldId next_hold_ = 1;
  Counts counts_;
  std::vector<uint32_t> unused_leases_;
  // Nodes that can be spilled, by position.
  std::set<std::pair<int64_t, Digest>> spillable_;
  uint64_t admissions_ = 0;  // sequences that began while the cache thrashed
  std::array<uint64_t, kRemovals> removed_{};
};

// What insert() was given for the node.
const TakenOut& taken_out(const ChainIndex::Node* node);
// The page of a node; it may not be in memory.
PageIndex page_of(const ChainIndex::Node* node);
const Digest& key_of(const ChainIndex::Node* node);
// The argument `tenant` of chain_key() for a page of `tenant` after `parent`.
const Digest* tenant_key_behind(const ChainIndex& index, const ChainIndex::Node* parent,
                                TenantId tenant);
ChainIndex::PageName name_of(const ChainIndex::Node* node);
// The nodes from the first page of its chain down to `node`, both included.
std::vector<ChainIndex::Node*> path_to(ChainIndex::Node* node);
// The tokens of the nodes from the first page of the chain down to `node`.
std::vector<int32_t> chain_to(ChainIndex::Node* node);
// The number of nodes from `node` up to the root that only one running sequence uses and no pin
// keeps: release() of that sequence adds them to evictable_count().
size_t used_alone_count(const ChainIndex::Node* node);
// The nodes of the owner's longest chain that begins like `tokens`, wherever their K and V are; the
// last one may agree only in part.
std::vector<ChainIndex::Node*> nodes_with(const ChainIndex& index, TenantId tenant,
                                          std::span<const int32_t> tokens);
// The number of pages used at or after `since_us`, including pages evicted since then, as far as
// they are remembered. Walks all nodes.
size_t working_set(const ChainIndex& index, int64_t since_us);
// The pinned nodes in memory from `node` up to the page `first_page` of the chain.
size_t pinned_count(const ChainIndex::Node* node, int64_t first_page = 0);
// Whether the node's memory can be freed although it is used: it has a lease and only readers use
// it, or all its users look away from it; and no pin keeps it.
bool can_spill(const ChainIndex::Node* node);
// Whether a lease is all that the node lacks to be spilled.
bool waits_for_lease(const ChainIndex::Node* node);

}  // namespace cascade
