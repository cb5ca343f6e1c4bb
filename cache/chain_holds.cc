// The chain tree: what is kept, and what is released.
#include <algorithm>
#include <array>
#include <vector>

#include "base/check.h"
#include "cache/chain_key.h"
#include "cache/chain_node.h"

namespace cascade {

namespace {

using Tokens = std::span<const int32_t>;

// Whether a sibling of `node` in memory also begins with the first `count` tokens of `node`.
bool sibling_has(const ChainIndex::Node* node, int64_t count) {
  const Tokens prefix = Tokens(node->tokens).first(static_cast<size_t>(count));
  const auto has = [&](const auto& sibling) {
    return sibling->tenant == node->tenant && sibling->in_memory() &&
           starts_with(sibling->tokens, prefix);
  };
  const auto& siblings = node->parent->children;
  const auto self = siblings.find(ChildKey{node->tenant, node->tokens});
  const auto after = std::next(self);
  return (after != siblings.end() && has(*after)) ||
         (self != siblings.begin() && has(*std::prev(self)));
}

// The owners whose nodes a chain of the tenant may have, the tenant itself first.
std::array<TenantId, 3> owners_of(TenantId tenant, TenantId base) {
  return {tenant, base, kPublic};
}

// The nodes after `reached` that have exactly the tokens `page`. A tenant with a base may have such
// nodes of several owners; any other tenant has at most one.
std::vector<ChainIndex::Node*> next_nodes(const std::vector<ChainIndex::Node*>& reached,
                                          TenantId tenant, TenantId base, Tokens page) {
  std::vector<ChainIndex::Node*> next;
  for (const ChainIndex::Node* node : reached) {
    for (const TenantId owner : owners_of(tenant, base)) {
      const auto found = node->children.find(ChildKey{owner, page});
      if (found == node->children.end()) continue;
      next.push_back(found->get());
      if (base == kPublic) break;
    }
  }
  return next;
}

Tokens first_page_of(Tokens tokens) {
  return tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
}

// The nodes at which the paths with the tokens of a chain end: at its end, or where no node has its
// next page.
std::vector<ChainIndex::Node*> path_ends(ChainIndex::Node* root, TenantId tenant, TenantId base,
                                         Tokens tokens) {
  std::vector<ChainIndex::Node*> ends;
  std::vector<ChainIndex::Node*> reached = {root};
  while (!reached.empty()) {
    const Tokens page = first_page_of(tokens);
    std::vector<ChainIndex::Node*> next;
    for (ChainIndex::Node* node : reached) {
      const auto after = next_nodes({node}, tenant, base, page);
      if (after.empty()) ends.push_back(node);
      next.insert(next.end(), after.begin(), after.end());
    }
    reached = std::move(next);
    tokens = tokens.subspan(page.size());
  }
  return ends;
}

// Adds the tenant's nodes after `parent` that begin with `page`; with `shorter`, also those that
// have only a part of it.
void add_beginning_with(const ChainIndex::Node* parent, TenantId tenant, Tokens page, bool shorter,
                        std::vector<ChainIndex::Node*>& nodes) {
  for (size_t count = 1; shorter && count < page.size(); ++count) {
    const auto begun = parent->children.find(ChildKey{tenant, page.first(count)});
    if (begun != parent->children.end()) nodes.push_back(begun->get());
  }
  auto child = parent->children.lower_bound(ChildKey{tenant, page});
  for (; child != parent->children.end() && (*child)->tenant == tenant; ++child) {
    if (!starts_with((*child)->tokens, page)) break;
    nodes.push_back(child->get());
  }
}

}  // namespace

// Adds `count` (which may be negative) holds of `priority` to the path of `node`.
void ChainIndex::add_priority(Node* node, int32_t priority, int count) {
  for (; node->parent != nullptr; node = node->parent) {
    auto& priorities = node->priorities;
    const bool was_held = node->held();
    auto it = std::ranges::find(priorities, priority, &std::pair<int32_t, int>::first);
    if (it == priorities.end()) it = priorities.insert(it, {priority, 0});
    it->second += count;
    CHECK(it->second >= 0);
    if (it->second == 0) priorities.erase(it);
    if (node->in_memory() && was_held != node->held()) counts_.held += node->held() ? 1 : -1;
    requeue(node);
  }
}

std::optional<ChainIndex::HoldId> ChainIndex::hold(TenantId tenant, Tokens tokens,
                                                   int32_t priority) {
  const Match found = match(tenant, tokens);
  if (found.tokens() < static_cast<int64_t>(tokens.size())) return std::nullopt;
  Node* node = found.partial != nullptr ? found.partial : found.node;
  const HoldId id = next_hold_++;
  const auto before = static_cast<size_t>(node->position);
  const PageRange unseen = unseen_behind(tenants_[tenant].mode, std::ssize(tokens));
  holds_[id] = {node, tokens.size() - before, priority, unseen};
  node->ending_holds.push_back(id);
  add_priority(node, priority, 1);
  return id;
}

void ChainIndex::drop_hold(HoldId id) {
  const auto found = holds_.find(id);
  if (found == holds_.end()) return;
  unpin(id);
  const Hold hold = found->second;
  holds_.erase(found);
  std::erase(hold.node->ending_holds, id);
  add_priority(hold.node, hold.priority, -1);
}

// Moves the hold to `longer`, a sibling that has all tokens of the hold's last node. Both nodes
// have the same ancestors.
void ChainIndex::move_hold(HoldId id, Node* longer) {
  Hold& hold = holds_.at(id);
  Node* shorter = std::exchange(hold.node, longer);
  std::erase(shorter->ending_holds, id);
  longer->ending_holds.push_back(id);
  add_priority(shorter, hold.priority, -1);
  add_priority(longer, hold.priority, 1);
  if (!hold.pinned) return;
  unlock(shorter, {.pins = 1}, hold.unseen);
  lock(longer, {.pins = 1}, hold.unseen);
}

void ChainIndex::set_priority(HoldId id, int32_t priority) {
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second.priority == priority) return;
  add_priority(found->second.node, priority, 1);
  add_priority(found->second.node, std::exchange(found->second.priority, priority), -1);
}

void ChainIndex::pin(HoldId id) {
  const auto found = holds_.find(id);
  if (found == holds_.end() || found->second.pinned) return;
  found->second.pinned = true;
  lock(found->second.node, {.pins = 1}, found->second.unseen);
}

void ChainIndex::unpin(HoldId id) {
  const auto found = holds_.find(id);
  if (found == holds_.end() || !found->second.pinned) return;
  found->second.pinned = false;
  unlock(found->second.node, {.pins = 1}, found->second.unseen);
}

bool ChainIndex::is_pinned(HoldId id) const {
  const auto found = holds_.find(id);
  return found != holds_.end() && found->second.pinned;
}

size_t ChainIndex::unpinned_count(HoldId id) const {
  const auto found = holds_.find(id);
  if (found == holds_.end()) return 0;
  size_t count = 0;
  const PageRange& unseen = found->second.unseen;
  for (const Node* node = found->second.node; node->parent != nullptr; node = node->parent) {
    if (node->pins > 0 && !node->windowed) break;  // then its ancestors are pinned, too
    if (unseen.has(page_number(node)) || node->pins > 0) continue;
    count += node->in_memory() ? 1 : 0;
  }
  return count;
}

size_t pinned_count(const ChainIndex::Node* node, int64_t first_page) {
  size_t count = 0;
  for (; node->parent != nullptr && page_number(node) >= first_page; node = node->parent) {
    count += node->pins > 0 && node->in_memory() ? 1 : 0;
  }
  return count;
}

size_t ChainIndex::drop_branch(TenantId tenant, Tokens tokens, int64_t keep, Removal why) {
  // Whether an approximate page has the node's first `count` tokens. They are exact in it, too, but
  // no exact request finds them there: a part of a page is lost, and no thought stays.
  const auto approximation_has = [&](const Node* node, int64_t count) {
    const Tokens prefix = Tokens(node->tokens).first(static_cast<size_t>(count));
    for (TenantId other = 1; other < tenants_.size(); ++other) {
      if (tenants_[other].base != tenant) continue;
      if (child_with_prefix(node->parent, other, prefix) != nullptr) return true;
    }
    return false;
  };
  size_t removed = 0;
  for (Node* node : path_ends(root_.get(), tenant, tenants_[tenant].base, tokens)) {
    while (node->parent != nullptr && node->tenant == tenant && node->children.empty() &&
           node->users == 0) {
      const int64_t kept = std::max<int64_t>(keep - node->position, 0);
      if (kept >= static_cast<int64_t>(node->tokens.size())) break;
      const auto is_elsewhere = [&] {
        return sibling_has(node, kept) || (tenant != kPublic && approximation_has(node, kept));
      };
      if (kept > 0 && !is_elsewhere()) break;
      Node* parent = node->parent;
      if (!drop_unneeded(node, why)) break;
      ++removed;
      node = parent;
    }
  }
  prune_absent();
  return removed;
}

// Shortens an unused leaf to the tokens that the holds ending in it need. Removes the whole leaf,
// and returns true, if nothing holds it, or if a sibling in memory has the needed tokens: then the
// holds move there.
bool ChainIndex::drop_unneeded(Node* node, Removal why) {
  if (!node->held()) {
    remove(node, why);
    return true;
  }
  size_t needed = 0;
  for (const HoldId id : node->ending_holds) needed = std::max(needed, holds_.at(id).tokens);
  if (needed >= node->tokens.size()) return false;
  auto& siblings = node->parent->children;
  const Tokens beginning = Tokens(node->tokens).first(needed);
  const Digest before = node->key;
  auto other = siblings.lower_bound(ChildKey{node->tenant, beginning});
  if (other->get() == node) ++other;
  const bool is_elsewhere = other != siblings.end() && (*other)->tenant == node->tenant &&
                            (*other)->in_memory() && starts_with((*other)->tokens, beginning);
  if (is_elsewhere) {
    Node* longer = other->get();
    while (!node->ending_holds.empty()) move_hold(node->ending_holds.back(), longer);
    remove(node, why);
    shortened_(before, longer->key);
    return true;
  }
  removals_.add(node->parent->key, node->tenant, node->tokens, why);
  ++counts_.losses;
  auto owned = siblings.extract(siblings.find(ChildKey{node->tenant, node->tokens}));
  node->tokens.resize(needed);
  siblings.insert(std::move(owned));
  by_key_.erase(before);
  node->key = chain_key(node->parent->key, tenant_key_behind(*this, node->parent, node->tenant),
                        node->tokens);
  by_key_[node->key] = node;
  shortened_(before, node->key);
  return false;
}

size_t ChainIndex::drop_subtree(TenantId tenant, Tokens tokens, int64_t keep, Removal why,
                                bool holds) {
  CHECK(keep % kPageTokens == 0);
  const auto kept = std::min(static_cast<size_t>(keep), tokens.size());
  Tokens rest = tokens.subspan(kept);
  if (kept % kPageTokens != 0 || rest.empty()) return 0;
  const TenantId base = tenants_[tenant].base;
  std::vector<Node*> reached = path_ends(root_.get(), tenant, base, tokens.first(kept));
  std::erase_if(reached, [&](const Node* node) {
    return (node->parent == nullptr ? 0 : node->position + kPageTokens) !=
           std::ssize(tokens.first(kept));
  });
  // Lists parents before their children. Short pages, which were given up before they were full,
  // come first. The nodes of a tenant with a base may also begin after later pages of the base.
  std::vector<Node*> doomed;
  while (!rest.empty() && !reached.empty()) {
    const Tokens page = first_page_of(rest);
    for (const Node* parent : reached) add_beginning_with(parent, tenant, page, !holds, doomed);
    if (base == kPublic) break;
    reached = next_nodes(reached, tenant, base, page);
    std::erase_if(reached, [&](const Node* node) { return node->tenant == tenant; });
    rest = rest.subspan(page.size());
  }
  for (size_t i = 0; i < doomed.size(); ++i) {
    for (const auto& below : doomed[i]->children) doomed.push_back(below.get());
  }
  size_t removed = 0;
  for (auto it = doomed.rbegin(); it != doomed.rend(); ++it) {
    Node* const node = *it;
    while (holds && !node->ending_holds.empty()) drop_hold(node->ending_holds.back());
    const bool is_leaf = node->children.empty() && node->users == 0;
    if (is_leaf && drop_unneeded(node, why)) ++removed;
  }
  prune_absent();
  return removed;
}

}  // namespace cascade
