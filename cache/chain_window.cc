// The chain tree: chains whose tokens see only the first and the latest pages.
#include <algorithm>

#include "base/check.h"
#include "cache/chain_node.h"

namespace cascade {

using Tokens = std::span<const int32_t>;

ChainIndex::Match match_window(ChainIndex::Node* root, TenantId tenant, Tokens tokens,
                               const AttentionMode& mode) {
  ChainIndex::Match match;
  match.node = root;
  std::vector<PageIndex> pages;  // down to `node`
  int64_t leading = 0;           // pages in memory from the first one on, without a gap
  int64_t run_begin = 0;         // of the pages in memory without a gap that end with `node`
  size_t found = 0;              // pages of the longest beginning that can be continued
  for (ChainIndex::Node* node = root; tokens.size() >= kPageTokens * (pages.size() + 1);) {
    const Tokens page = tokens.subspan(kPageTokens * pages.size(), kPageTokens);
    const auto child = node->children.find(ChildKey{tenant, page});
    if (child == node->children.end()) break;
    node = child->get();
    pages.push_back(node->page);
    const auto count = static_cast<int64_t>(pages.size());
    if (!node->in_memory()) run_begin = count;
    if (node->in_memory() && leading == count - 1) leading = count;
    const PageRange unseen = unseen_behind(mode, count * kPageTokens);
    const bool all_there = leading == count;
    if (!all_there && (leading < unseen.begin || run_begin > unseen.end)) continue;
    found = pages.size();
    match.node = node;
  }
  pages.resize(found);
  match.pages = std::move(pages);
  const Tokens rest = tokens.subspan(found * kPageTokens);
  if (rest.empty()) return match;
  const Tokens page = rest.first(std::min<size_t>(rest.size(), kPageTokens));
  const ChildMatch partial =
      closest_child(match.node, tenant, page,
                    [](const ChainIndex::Node* child, size_t) { return child->in_memory(); });
  // A whole page in memory after what was found would have been found, too.
  CHECK(partial.tokens < kPageTokens);
  match.partial = partial.node;
  match.partial_tokens = static_cast<int>(partial.tokens);
  return match;
}

std::vector<ChainIndex::Node*> nodes_with(const ChainIndex& index, TenantId tenant, Tokens tokens) {
  if (index.tenant(tenant).mode.window == 0) {
    const ChainIndex::Match found = index.match(tenant, tokens, ChainIndex::Where::kAnywhere);
    std::vector<ChainIndex::Node*> nodes = path_to(found.node);
    if (found.partial != nullptr) nodes.push_back(found.partial);
    return nodes;
  }
  std::vector<ChainIndex::Node*> nodes;
  for (ChainIndex::Node* node = index.root(); !tokens.empty();) {
    const Tokens page = tokens.first(std::min<size_t>(tokens.size(), kPageTokens));
    const ChildMatch next =
        closest_child(node, tenant, page, [](const ChainIndex::Node*, size_t) { return true; });
    if (next.node == nullptr) break;
    nodes.push_back(next.node);
    if (next.tokens < kPageTokens) break;
    node = next.node;
    tokens = tokens.subspan(kPageTokens);
  }
  return nodes;
}

// Nothing suggests that a page will be wanted if nobody has found it since it was computed, nothing
// holds it, and no second chain goes on from it.
void ChainIndex::look_away(Node* node, const PageRange& pages, const PageRange& given_up) {
  CHECK(tenants_[node->tenant].mode.window > 0);
  const int64_t first = std::min(pages.begin, given_up.begin);
  for (; node->parent != nullptr && page_number(node) >= first; node = node->parent) {
    if (pages.has(page_number(node))) add_locks(node, {.readers = 1});
    if (!given_up.has(page_number(node))) continue;
    const bool is_wanted = node->hits > 0 || node->held() || node->children.size() > 1;
    if (!is_wanted && can_spill(node)) spill(node);
  }
}

}  // namespace cascade
