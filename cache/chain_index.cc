// The chain tree: look-ups, growth, use.
#include "cache/chain_index.h"

#include <algorithm>

#include "base/check.h"
#include "base/random.h"
#include "cache/chain_key.h"
#include "cache/chain_node.h"

namespace cascade {
namespace {

using Tokens = std::span<const int32_t>;

// How many removals to remember (about 400 bytes each) per page of the cache: several times what
// the cache holds, so that a scan larger than the cache can still be told why it missed.
constexpr size_t kRemovalsPerPage = 8;
constexpr size_t kRemovalsMin = 4096, kRemovalsMax = 32'768;

Tokens first_page(Tokens tokens) {
  return tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
}

MissReason miss_reason(Removal why) {
  switch (why) {
    case Removal::kEvicted: return MissReason::kEvicted;
    case Removal::kDead: return MissReason::kDropped;
    case Removal::kDeleted: return MissReason::kDeleted;
    case Removal::kExpired: return MissReason::kExpired;
  }
  return MissReason::kNone;
}

// Extends `match`, which ends with a whole page, by nodes of `tenant`. `tokens` are the tokens
// after that page.
void descend(ChainIndex::Match& match, TenantId tenant, Tokens tokens, ChainIndex::Where where) {
  // Only a page in memory can be copied in part.
  const auto usable = [&](const ChainIndex::Node* child, size_t shared) {
    return child->in_memory() ||
           (shared == kPageTokens && child->lease && where == ChainIndex::Where::kAnywhere);
  };
  while (!tokens.empty()) {
    const ChildMatch best = closest_child(match.node, tenant, first_page(tokens), usable);
    if (best.tokens < kPageTokens) {
      match.partial = best.node;
      match.partial_tokens = static_cast<int>(best.tokens);
      return;
    }
    match.node = best.node;
    match.pages.push_back(best.node->page);
    tokens = tokens.subspan(kPageTokens);
  }
}

}  // namespace

ChainIndex::ChainIndex(const Digest& root_key, PagePool& pool, EvictionPolicy policy)
    : pool_(pool),
      policy_(policy),
      monitor_(pool.page_count()),
      removals_(std::clamp(kRemovalsPerPage * pool.page_count(), kRemovalsMin, kRemovalsMax),
                system_random()),
      root_(std::make_unique<Node>()),
      bonus_{monitor_.bonus_s(policy)} {
  root_->key = root_key;
  tenants_.push_back({root_key});
}

// Works without recursion: a chain of a million tokens is 16,000 nodes deep.
ChainIndex::~ChainIndex() {
  std::vector<std::unique_ptr<Node>> pending;
  pending.push_back(std::move(root_));
  while (!pending.empty()) {
    const std::unique_ptr<Node> node = std::move(pending.back());
    pending.pop_back();
    while (!node->children.empty()) {
      pending.push_back(std::move(node->children.extract(node->children.begin()).value()));
    }
  }
}

TenantId ChainIndex::add_tenant(const Digest& key, const AttentionMode& mode, TenantId exact) {
  CHECK(mode.window == 0 || mode.window >= kPageTokens);
  CHECK(!mode.is_approximate() || (mode.exact().is_dense() && exact != kPublic));
  tenants_.push_back({key, mode, exact});
  return static_cast<TenantId>(tenants_.size() - 1);
}

ChainIndex::Node* child_with_prefix(const ChainIndex::Node* parent, TenantId tenant,
                                    Tokens tokens) {
  const auto found = parent->children.lower_bound(ChildKey{tenant, tokens});
  if (found == parent->children.end() || (*found)->tenant != tenant) return nullptr;
  return starts_with((*found)->tokens, tokens) ? found->get() : nullptr;
}

PageIndex page_of(const ChainIndex::Node* node) {
  CHECK(node->parent != nullptr);
  return node->page;
}

ChainIndex::Node* ChainIndex::find(const Digest& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second;
}

const TakenOut& taken_out(const ChainIndex::Node* node) {
  return node->taken_out;
}

const Digest& key_of(const ChainIndex::Node* node) {
  return node->key;
}

// The first node of a chain that is not public has the tenant's key in its own key.
const Digest* tenant_key_behind(const ChainIndex& index, const ChainIndex::Node* parent,
                                TenantId tenant) {
  return tenant != parent->tenant ? &index.tenant(tenant).key : nullptr;
}

std::vector<int32_t> chain_to(ChainIndex::Node* node) {
  std::vector<int32_t> chain;
  for (const ChainIndex::Node* page : path_to(node)) {
    chain.insert(chain.end(), page->tokens.begin(), page->tokens.end());
  }
  return chain;
}

std::vector<ChainIndex::Node*> path_to(ChainIndex::Node* node) {
  std::vector<ChainIndex::Node*> path;
  for (; node->parent != nullptr; node = node->parent) path.push_back(node);
  std::ranges::reverse(path);
  return path;
}

ChainIndex::PageName name_of(const ChainIndex::Node* node) {
  CHECK(node->parent != nullptr);
  return {node->key, node->parent->key, node->tenant, node->position, node->tokens, node->hits};
}

// Follows public nodes as far as possible; at each of them the chain may continue with the tenant's
// own.
ChainIndex::Match ChainIndex::match(TenantId tenant, Tokens tokens, Where where) const {
  const AttentionMode& mode = tenants_[tenant].mode;
  if (mode.window > 0) return match_window(root_.get(), tenant, tokens, mode);
  if (tenants_[tenant].base != kPublic) return match_approximate(tenant, tokens, where);
  Match shared;
  shared.node = root_.get();
  if (tenant == kPublic || !mode.is_dense()) {  // public pages are dense
    descend(shared, tenant, tokens, where);
    return shared;
  }
  Match best = shared;
  for (Tokens rest = tokens;; rest = rest.subspan(kPageTokens)) {
    Match own = shared;
    descend(own, tenant, rest, where);
    if (own.tokens() > best.tokens()) best = std::move(own);
    Match next = shared;
    descend(next, kPublic, first_page(rest), where);
    if (next.tokens() > best.tokens()) best = next;
    if (next.pages.size() == shared.pages.size()) return best;
    shared = std::move(next);
  }
}

// The chain may continue with the tenant's own nodes at each node of the exact chain. A page is
// only copied in part if that part has approximate tokens and if it is known how many positions
// before them are free.
ChainIndex::Match ChainIndex::match_approximate(TenantId tenant, Tokens tokens, Where where) const {
  Match best = match(tenants_[tenant].base, tokens, where);
  const std::vector<Node*> path = path_to(best.node);
  size_t begin = 0;  // the page at which the best own part begins
  std::optional<Match> own_part;
  for (size_t depth = 0; depth <= path.size(); ++depth) {
    Match own;  // after the first `depth` pages
    own.node = depth == 0 ? root_.get() : path[depth - 1];
    descend(own, tenant, tokens.subspan(depth * kPageTokens), where);
    if (const Node* const part = own.partial; part != nullptr) {
      const TakenOut& out = part->taken_out;
      const int64_t end = part->position + own.partial_tokens;
      const bool is_known = out.free == own.node->taken_out.free || out.free_begin < end;
      if (!is_known || out.begin >= end) {
        own.partial = nullptr;
        own.partial_tokens = 0;
      }
    }
    const int64_t found = static_cast<int64_t>(depth) * kPageTokens + own.tokens();
    const int64_t most =
        own_part ? static_cast<int64_t>(begin) * kPageTokens + own_part->tokens() : best.tokens();
    if (found <= most) continue;
    begin = depth;
    own_part = std::move(own);
  }
  if (!own_part) return best;
  best.pages.resize(begin);
  best.pages.insert(best.pages.end(), own_part->pages.begin(), own_part->pages.end());
  own_part->pages = std::move(best.pages);
  return *std::move(own_part);
}

Miss ChainIndex::explain(TenantId tenant, Tokens tokens, Where where) const {
  const Match found = match(tenant, tokens, where);
  Miss miss{MissReason::kNone, found.tokens()};
  if (found.tokens() == static_cast<int64_t>(tokens.size())) return miss;
  const AttentionMode& mode = tenants_[tenant].mode;
  const bool has_absent = by_key_.size() > counts_.nodes;
  if (mode.is_stored() && has_absent &&
      match(tenant, tokens, Where::kAnywhere).tokens() > miss.position) {
    miss.reason = MissReason::kEvicted;
    return miss;
  }
  const Tokens page = first_page(tokens.subspan(found.pages.size() * kPageTokens));
  const Node* const same = child_with_prefix(found.node, tenant, page);
  if (same != nullptr && same->windowed && !same->in_memory()) {
    miss.reason = MissReason::kEvicted;
    return miss;
  }
  const auto shared = static_cast<size_t>(found.partial_tokens);
  for (const TenantId owner : {tenant, tenants_[tenant].base, kPublic}) {
    const auto removal = removals_.find(found.node->key, owner, page, shared);
    // A tenant is not told that something was published and no longer is.
    const bool may_tell = owner == tenant || owner != kPublic ||
                          (mode.exact().is_dense() && removal == Removal::kEvicted);
    if (!removal || !may_tell) continue;
    miss.reason = miss_reason(*removal);
    return miss;
  }
  const Node* closest = found.partial;
  if (closest == nullptr) {
    const auto& children = found.node->children;
    const auto next = children.lower_bound(ChildKey{tenant, {}});
    if (next != children.end() && (*next)->tenant == tenant) closest = next->get();
  }
  if (closest == nullptr || closest->tokens.size() == shared) {
    miss.reason = MissReason::kNew;
    return miss;
  }
  miss.reason = MissReason::kDiffers;
  miss.known_token = closest->tokens[shared];
  return miss;
}

void ChainIndex::acquire(Node* node, Use use, const PageRange& unseen) {
  lock(node, {.users = 1, .readers = use == Use::kReader}, unseen);
}

void ChainIndex::release(Node* node, Use use, const PageRange& unseen) {
  unlock(node, {.users = 1, .readers = use == Use::kReader}, unseen);
  prune_absent();
}

// Changes the locks of one node, and what is counted by them.
void ChainIndex::add_locks(Node* node, const Locks& locks) {
  const bool was_locked = node->locked();
  const bool was_pinned = node->pins > 0;
  const bool was_seen = node->only_seen();
  node->users += locks.users;
  node->readers += locks.readers;
  node->pins += locks.pins;
  CHECK(node->users >= node->readers && node->readers >= 0 && node->pins >= 0);
  note_spillable(node);
  if (node->in_memory() && was_pinned != (node->pins > 0)) {
    counts_.pinned += was_pinned ? -1 : 1;
    tenants_[node->tenant].pinned += was_pinned ? -1 : 1;
  }
  if (node->in_memory() && was_seen != node->only_seen()) counts_.seen += was_seen ? -1 : 1;
  if (was_locked == node->locked()) return;
  if (node->in_memory()) counts_.locked += was_locked ? -1 : 1;
  if (was_locked) return;
  dequeue(node);
}

// A user or pin that looks away from a page counts as its reader.
void ChainIndex::lock(Node* node, const Locks& locks, const PageRange& unseen) {
  const int all = locks.users + locks.pins;
  for (; node->parent != nullptr; node = node->parent) {
    add_locks(node, unseen.has(page_number(node)) ? Locks{all, all, 0} : locks);
  }
}

void ChainIndex::unlock(Node* node, const Locks& locks, const PageRange& unseen) {
  const int all = locks.users + locks.pins;
  for (; node->parent != nullptr; node = node->parent) {
    add_locks(node, unseen.has(page_number(node))
                        ? Locks{-all, -all, 0}
                        : Locks{-locks.users, -locks.readers, -locks.pins});
    if (node->locked()) continue;
    // A page in memory that can be evicted does not need its lease.
    if (node->in_memory() && node->lease) unused_leases_.push_back(*std::exchange(node->lease, {}));
    enqueue_if_leaf(node);
  }
}

void ChainIndex::extend(Node* child, Use use) {
  CHECK(child->parent->parent == nullptr || child->parent->users > 0);
  add_locks(child, {.users = 1, .readers = use == Use::kReader});
}

size_t ChainIndex::taken_by(const Node* node, Use use) const {
  size_t count = 0;
  // A use or pin that locks a node also locks its ancestors.
  for (; node->parent != nullptr; node = node->parent) {
    const bool evictable = node->in_memory() && !node->locked();
    // Pages that wait for a lease count, too: they were taken by readers, which take others then.
    const bool read = use == Use::kMemory && (can_spill(node) || waits_for_lease(node));
    if (evictable || read) ++count;
  }
  return count;
}

size_t used_alone_count(const ChainIndex::Node* node) {
  size_t count = 0;
  // An ancestor has the users and pins of its descendants, and perhaps more.
  for (; node->parent != nullptr && node->users == 1 && node->pins == 0; node = node->parent) {
    count += node->in_memory() ? 1 : 0;
  }
  return count;
}

void ChainIndex::touch(Node* node, int64_t now_us, bool observed) {
  if (observed && node->parent != nullptr && node->hits == 0) {
    monitor_.reused(now_us - node->last_used_us);
  }
  for (; node->parent != nullptr; node = node->parent) {
    if (observed) monitor_.found();
    node->last_used_us = now_us;
    ++node->hits;
    node->on_probation = false;
    requeue(node);
  }
}

ChainIndex::Node* ChainIndex::insert(Node* parent, TenantId tenant, Tokens tokens, PageIndex page,
                                     int64_t now_us, bool on_probation, const TakenOut& taken_out) {
  CHECK(!tokens.empty() && tokens.size() <= kPageTokens && tenant < tenants_.size());
  CHECK(parent->parent == nullptr || parent->full());
  CHECK(parent->tenant == kPublic || parent->tenant == tenant ||
        parent->tenant == tenants_[tenant].base);
  Node* const present = child_with_prefix(parent, tenant, tokens);
  if (present != nullptr && (present->in_memory() || present->tokens.size() == tokens.size())) {
    present->last_used_us = std::max(present->last_used_us, now_us);
    if (in_memory(page)) {
      if (!present->in_memory()) put_into_memory(present, page);
    } else if (present->page == kLostPage) {
      present->page = page;
      present->lease = page & ~kLeasedPage;
    } else {
      unused_leases_.push_back(page & ~kLeasedPage);
    }
    requeue(present);
    return present;
  }
  auto owned = std::make_unique<Node>();
  Node* node = owned.get();
  node->parent = parent;
  node->tenant = tenant;
  node->windowed = tenants_[tenant].mode.window > 0;
  node->tokens.assign(tokens.begin(), tokens.end());
  node->page = page;
  if (!in_memory(page)) node->lease = page & ~kLeasedPage;
  node->key = chain_key(parent->key, tenant_key_behind(*this, parent, tenant), node->tokens);
  by_key_[node->key] = node;
  node->position = parent->parent == nullptr ? 0 : parent->position + kPageTokens;
  node->taken_out = taken_out;
  node->last_used_us = now_us;
  node->on_probation = on_probation;
  dequeue(parent);
  parent->children.insert(std::move(owned));
  if (node->in_memory()) {
    pool_.retain(page);
    count_memory(node, 1);
    monitor_.computed(node->key);
    absorb_shorter(node);
  }
  enqueue_if_leaf(node);
  return node;
}

// Removes the siblings that `longer` continues, which are useless beside it: their holds move to
// it.
void ChainIndex::absorb_shorter(Node* longer) {
  auto& siblings = longer->parent->children;
  const ChildKey key = {longer->tenant, longer->tokens};
  auto it = siblings.find(key);
  while (it != siblings.begin()) {
    Node* shorter = std::prev(it)->get();
    const bool absorbed = shorter->tenant == longer->tenant && shorter->users == 0 &&
                          starts_with(longer->tokens, shorter->tokens);
    if (!absorbed) return;
    longer->hits = std::max(longer->hits, shorter->hits);
    while (!shorter->ending_holds.empty()) move_hold(shorter->ending_holds.back(), longer);
    remove(shorter, Removal::kDead);
    it = siblings.find(key);
  }
}

size_t working_set(const ChainIndex& index, int64_t since_us) {
  size_t pages = index.monitor().ghosts().used_since(since_us);
  std::vector<const ChainIndex::Node*> pending = {index.root()};
  while (!pending.empty()) {
    const ChainIndex::Node* node = pending.back();
    pending.pop_back();
    const bool is_page = node->parent != nullptr && node->in_memory();
    if (is_page && node->last_used_us >= since_us) ++pages;
    for (const auto& child : node->children) pending.push_back(child.get());
  }
  return pages;
}

}  // namespace cascade
