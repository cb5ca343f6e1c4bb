// Which pages of chains are on disk: their names and how they hang together, not their content.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/hash.h"

namespace cascade {

// Pages are named by their chain keys (cache/chain_key.h), which digest the token ids of the chain
// so far: what is looked up by its tokens has these tokens. (Whoever reads a page compares them
// once more.) One thread.
class DiskIndex {
 public:
  // A page of `tokens` (1..64) behind the page or root `parent`. Nothing if it is there.
  void add(const Digest& key, const Digest& parent, int32_t tokens);
  // Nothing if it is not there.
  void remove(const Digest& key);
  bool contains(const Digest& key) const { return pages_.contains(key); }
  size_t size() const { return pages_.size(); }

  // The longest part of a chain that is there.
  struct Match {
    std::vector<Digest> keys;  // of whole pages, but for the last maybe
    int64_t tokens = 0;
  };
  // Of `tokens`, which stand behind the page or root `from`. `tenant`: as of chain_key(), of the
  // first page.
  Match match(const Digest& from, const Digest* tenant, std::span<const int32_t> tokens) const;

  // The keys of a chain's pages, one for each page: also of those behind a page that is missing,
  // which match() does not find. Parameters as of match(). A whole page that is missing has its
  // own key, or that of the longest short page in its place; the last page, if it is short, is
  // there or left out.
  std::vector<Digest> keys_of(const Digest& from, const Digest* tenant,
                              std::span<const int32_t> tokens) const;

  // The page, if it is there, and all that goes on from it, children before their parents, but for
  // what leads to a page that is `kept`.
  std::vector<Digest> subtree(const Digest& key,
                              const std::function<bool(const Digest&)>& kept) const;

  // Whether pages that are there go on from the page `key`.
  bool has_children(const Digest& key) const;

  struct Step {
    Digest key;
    int32_t tokens;
  };
  // The pages of a chain, from its last page `key` up to the first; those that are there.
  std::vector<Step> path(const Digest& key) const;

 private:
  struct Page {
    Digest parent;
    int32_t tokens;
  };
  struct Children {
    std::vector<Digest> keys;
    std::map<int32_t, int> short_pages;  // of fewer than 64 tokens: how many of each length
  };

  // The longest short page behind `parent` that `tokens` begin with; nullopt: none.
  std::optional<Match> short_page(const Digest& parent, const Digest* tenant,
                                  std::span<const int32_t> tokens) const;

  std::unordered_map<Digest, Page> pages_;
  std::unordered_map<Digest, Children> children_;  // by parent
};

}  // namespace cascade
