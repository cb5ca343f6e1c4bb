// A second, naive implementation of the chain index and its sequences: lists of whole token
// sequences, searched from end to end. A random test compares the real ones with it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "cache/eviction.h"
#include "cache/kv_view.h"
#include "tests/cache/chain_memory.h"

namespace cascade::testing {

class ChainModel {
 public:
  struct Hold {
    int32_t priority = 0;
    bool pinned = false;
    size_t tokens = 0;  // the number of tokens of the held chain
  };
  // A page. All tokens of its chain up to its last one are its name.
  struct Node {
    int64_t last_used_us = 0;
    int64_t hits = 0;
    int users = 0;
    std::map<uint64_t, Hold> holds;  // the holds that end in this page
  };
  struct Sequence {
    Tokens tokens;
    size_t sealed = 0;  // number of whole pages, in the index
    size_t own = 0;     // number of its own pages after them
  };

  ChainModel(size_t pages, EvictionPolicy policy) : pages_max_(pages), policy_(policy) {}

  static size_t common_prefix(const Tokens& a, const Tokens& b) {
    return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  }

  size_t available(const Tokens& tokens) const {
    size_t best = 0;
    for (const auto& [chain, node] : nodes_) best = std::max(best, common_prefix(chain, tokens));
    return best;
  }

  Sequence reuse(const Tokens& tokens, int64_t now_us) {
    Sequence sequence;
    const size_t found = available(tokens);
    sequence.sealed = found / kPageTokens;
    sequence.tokens = first_of(tokens, sequence.sealed * kPageTokens);
    use(sequence.tokens, 1);
    Tokens hit = sequence.tokens;
    if (found % kPageTokens != 0) {
      const Tokens partial = best_partial(sequence.tokens, tokens, found);
      use(partial, 1);
      if (allocate(sequence)) {
        sequence.tokens = first_of(tokens, found);
        hit = partial;
      }
      use(partial, -1);
    }
    for_path(hit, [&](Node& node) {
      node.last_used_us = now_us;
      ++node.hits;
    });
    return sequence;
  }

  bool reserve(Sequence& sequence, size_t tokens) {
    while ((sequence.sealed + sequence.own) * kPageTokens < tokens) {
      if (!allocate(sequence)) return false;
    }
    return true;
  }

  void commit(Sequence& sequence, const Tokens& tokens, int64_t now_us) {
    sequence.tokens = join(sequence.tokens, tokens);
    while (sequence.tokens.size() >= (sequence.sealed + 1) * kPageTokens) {
      const size_t end = (sequence.sealed + 1) * kPageTokens;
      insert(first_of(sequence.tokens, end), now_us);
      nodes_.at(first_of(sequence.tokens, end)).users += 1;
      ++sequence.sealed;
      --sequence.own;
      --own_pages_;
    }
  }

  void finish(const Sequence& sequence, int64_t now_us) {
    if (sequence.tokens.size() > sequence.sealed * kPageTokens) insert(sequence.tokens, now_us);
    own_pages_ -= sequence.own;
    use(first_of(sequence.tokens, sequence.sealed * kPageTokens), -1);
  }

  bool can_hold(const Tokens& tokens) const { return available(tokens) == tokens.size(); }
  void hold(const Tokens& tokens, uint64_t id, int32_t priority) {
    nodes_.at(end_of(tokens)).holds[id] = {priority, false, tokens.size()};
  }
  // The hold, or nullptr if there is none.
  Hold* find_hold(uint64_t id) {
    for (auto& [chain, node] : nodes_) {
      if (const auto found = node.holds.find(id); found != node.holds.end()) return &found->second;
    }
    return nullptr;
  }
  void drop_hold(uint64_t id) {
    for (auto& [chain, node] : nodes_) node.holds.erase(id);
  }
  bool is_held(uint64_t id) const {
    return std::ranges::any_of(nodes_, [&](const auto& n) { return n.second.holds.contains(id); });
  }

  // Removes the pages of `tokens` from the end down to position `keep`, as long as nothing else
  // needs them. The page that has `keep` inside is also removed, if another page has that page's
  // tokens before `keep`.
  size_t drop_branch(const Tokens& tokens, size_t keep) {
    size_t removed = 0;
    for (size_t begin = (tokens.size() + 63) / 64 * 64; begin > 0;) {
      begin -= 64;
      const Tokens chain = first_of(tokens, std::min(tokens.size(), begin + 64));
      const auto found = nodes_.find(chain);
      if (found == nodes_.end()) continue;
      if (keep >= chain.size()) break;
      if (keep > begin && !is_elsewhere(chain, keep)) break;
      if (found->second.users > 0 || has_children(chain) || drop_unneeded(chain) == 0) break;
      ++removed;
    }
    return removed;
  }

  // Takes the page of `tokens` after its first `keep` (a multiple of 64). Removes, children first,
  // every page that begins like this page or is a beginning of it, and all pages after these, as
  // far as nobody uses or holds them.
  size_t drop_subtree(const Tokens& tokens, size_t keep) {
    if (keep >= tokens.size()) return 0;
    for (size_t end = kPageTokens; end <= keep; end += kPageTokens) {
      if (!nodes_.contains(first_of(tokens, end))) return 0;
    }
    const Tokens beginning = first_of(tokens, std::min(tokens.size(), keep + kPageTokens));
    std::vector<Tokens> doomed;
    for (const auto& [chain, node] : nodes_) {
      if (begin_of(chain) < keep) continue;
      if (begins_with(chain, beginning) || begins_with(beginning, chain)) doomed.push_back(chain);
    }
    std::ranges::sort(doomed, std::greater(),
                      [](const Tokens& chain) { return std::pair(begin_of(chain), chain); });
    size_t removed = 0;
    for (const Tokens& chain : doomed) {
      if (nodes_.at(chain).users > 0 || has_children(chain)) continue;
      removed += drop_unneeded(chain);
    }
    return removed;
  }

  bool evict_one() {
    auto worst = nodes_.end();
    for (auto it = nodes_.begin(); it != nodes_.end(); ++it) {
      if (is_locked(*it) || has_children(it->first)) continue;
      if (worst == nodes_.end() || score(*it) < score(*worst)) worst = it;
    }
    if (worst == nodes_.end()) return false;
    nodes_.erase(worst);
    ++evicted;
    return true;
  }

  size_t evictable() const {
    return static_cast<size_t>(
        std::ranges::count_if(nodes_, [&](const auto& node) { return !is_locked(node); }));
  }
  size_t pinned() const {
    return static_cast<size_t>(
        std::ranges::count_if(nodes_, [&](const auto& node) { return is_pinned(node.first); }));
  }
  size_t held() const {
    return static_cast<size_t>(std::ranges::count_if(
        nodes_, [&](const auto& node) { return priority_of(node.first).has_value(); }));
  }
  size_t used_pages() const { return nodes_.size() + own_pages_; }
  const std::map<Tokens, Node>& nodes() const { return nodes_; }

  uint64_t evicted = 0;

 private:
  static size_t begin_of(const Tokens& chain) {
    return (chain.size() - 1) / kPageTokens * kPageTokens;
  }

  // Removes as much of a page as the holds that end in it do not need. The part that they need
  // stays, unless another page has it: then the holds move to the first such page. Returns how many
  // pages were removed: 0 or 1.
  size_t drop_unneeded(const Tokens& chain) {
    if (nodes_.at(chain).holds.empty()) return nodes_.erase(chain);
    size_t needed = 0;
    for (const auto& [id, hold] : nodes_.at(chain).holds) needed = std::max(needed, hold.tokens);
    if (needed >= chain.size()) return 0;
    const Tokens beginning = first_of(chain, needed);
    Node node = std::move(nodes_.extract(chain).mapped());
    for (auto other = nodes_.lower_bound(beginning);
         other != nodes_.end() && begins_with(other->first, beginning); ++other) {
      if (begin_of(other->first) != begin_of(chain)) continue;
      other->second.holds.merge(node.holds);
      return 1;
    }
    nodes_[beginning] = std::move(node);
    return 0;
  }

  template <class Body>
  void for_path(const Tokens& chain, const Body& body) {
    for (size_t end = kPageTokens; end < chain.size(); end += kPageTokens) {
      body(nodes_.at(first_of(chain, end)));
    }
    if (!chain.empty()) body(nodes_.at(chain));
  }
  void use(const Tokens& chain, int difference) {
    for_path(chain, [&](Node& node) { node.users += difference; });
  }

  static bool begins_with(const Tokens& tokens, const Tokens& prefix) {
    return common_prefix(tokens, prefix) == prefix.size();
  }
  bool has_children(const Tokens& chain) const {
    return std::ranges::any_of(nodes_, [&](const auto& other) {
      return begin_of(other.first) >= chain.size() && begins_with(other.first, chain);
    });
  }
  // Calls body for each hold whose path has `chain`.
  template <class Body>
  void for_holds(const Tokens& chain, const Body& body) const {
    for (const auto& [other, node] : nodes_) {
      const bool below = other == chain || begin_of(other) >= chain.size();
      if (!below || !begins_with(other, chain)) continue;
      for (const auto& [id, hold] : node.holds) body(hold);
    }
  }
  std::optional<int32_t> priority_of(const Tokens& chain) const {
    std::optional<int32_t> priority;
    for_holds(chain, [&](const Hold& hold) {
      priority = std::max(priority.value_or(hold.priority), hold.priority);
    });
    return priority;
  }
  bool is_pinned(const Tokens& chain) const {
    bool pinned = false;
    for_holds(chain, [&](const Hold& hold) { pinned = pinned || hold.pinned; });
    return pinned;
  }
  bool is_locked(const std::pair<const Tokens, Node>& node) const {
    return node.second.users > 0 || is_pinned(node.first);
  }
  PageScore score(const std::pair<const Tokens, Node>& node) const {
    PageWorth worth;
    worth.priority = priority_of(node.first).value_or(kPriorityNormal);
    worth.last_used_us = node.second.last_used_us;
    worth.hits = node.second.hits;
    worth.position = static_cast<int64_t>(begin_of(node.first));
    return page_score(policy_, worth, 0);
  }

  // Among the pages after `parent` that share `found` tokens with `tokens`: the first one (in the
  // order of tokens) that is not less than `tokens`; if there is none, the last one.
  Tokens best_partial(const Tokens& parent, const Tokens& tokens, size_t found) const {
    const Tokens wanted = first_of(tokens, std::min(tokens.size(), parent.size() + kPageTokens));
    std::optional<Tokens> before;
    for (const auto& [chain, node] : nodes_) {
      const bool child = chain.size() > parent.size() && begin_of(chain) == parent.size();
      if (!child || common_prefix(chain, wanted) != found) continue;
      if (chain >= wanted) return chain;
      before = chain;
    }
    return *before;
  }

  // Whether another page at the place of the last page of `chain` has the same tokens up to `keep`.
  bool is_elsewhere(const Tokens& chain, size_t keep) const {
    return std::ranges::any_of(nodes_, [&](const auto& other) {
      return other.first != chain && begin_of(other.first) == begin_of(chain) &&
             begins_with(other.first, first_of(chain, keep));
    });
  }

  // The page that has the last of `tokens`.
  Tokens end_of(const Tokens& tokens) const {
    for (const auto& [chain, node] : nodes_) {
      if (begin_of(chain) == begin_of(tokens) && begins_with(chain, tokens)) return chain;
    }
    return {};
  }

  void insert(const Tokens& chain, int64_t now_us) {
    if (available(chain) == chain.size()) {
      Node& present = nodes_.at(end_of(chain));
      present.last_used_us = std::max(present.last_used_us, now_us);
      return;
    }
    Node node;
    node.last_used_us = now_us;
    for (size_t size = begin_of(chain) + 1; size < chain.size(); ++size) {
      const auto shorter = nodes_.find(first_of(chain, size));
      if (shorter == nodes_.end()) continue;
      node.hits = std::max(node.hits, shorter->second.hits);
      node.holds.insert(shorter->second.holds.begin(), shorter->second.holds.end());
      nodes_.erase(shorter);
    }
    nodes_.emplace(chain, std::move(node));
  }

  bool allocate(Sequence& sequence) {
    if (used_pages() == pages_max_ && !evict_one()) return false;
    ++sequence.own;
    ++own_pages_;
    return true;
  }

  const size_t pages_max_;
  const EvictionPolicy policy_;
  std::map<Tokens, Node> nodes_;
  size_t own_pages_ = 0;
};

}  // namespace cascade::testing
