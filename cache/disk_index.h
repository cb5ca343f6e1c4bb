// Which pages of chains are on disk: their names and how they are linked, not their content.
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
// so far: a page that is found by its tokens has these tokens. (The reader of a page compares them
// once more.) One thread.
class DiskIndex {
 public:
  // Adds a page of `tokens` tokens (1..64) after the page or root `parent`. Does nothing if it is
  // there.
  void add(const Digest& key, const Digest& parent, int32_t tokens);
  // Does nothing if the page is not there.
  void remove(const Digest& key);
  bool contains(const Digest& key) const { return pages_.contains(key); }
  size_t size() const { return pages_.size(); }
  // Whether the page, which is there, has fewer than 64 tokens.
  bool is_short(const Digest& key) const;

  // The longest part of a chain that is on disk.
  struct Match {
    std::vector<Digest> keys;  // of whole pages, except perhaps the last
    int64_t tokens = 0;
  };
  // Matches `tokens`, which come after the page or root `from`. `tenant` is that of chain_key() for
  // the first page.
  Match match(const Digest& from, const Digest* tenant, std::span<const int32_t> tokens) const;

  // The longest page of fewer than 64 tokens after `parent` whose tokens are the beginning of
  // `tokens`; nullopt: none. `tenant` as for match().
  std::optional<Match> short_page(const Digest& parent, const Digest* tenant,
                                  std::span<const int32_t> tokens) const;

  // The keys of a chain's pages, one for each page, including the pages after a missing one, which
  // match() does not find. Parameters as for match(). For a whole page that is missing, the key is
  // its own or that of the longest short page in its place. A short last page is left out if it is
  // missing.
  std::vector<Digest> keys_of(const Digest& from, const Digest* tenant,
                              std::span<const int32_t> tokens) const;

  // The page, if it is there, and all pages that continue from it, children before their parents,
  // except `kept` pages and those that lead to one.
  std::vector<Digest> subtree(const Digest& key,
                              const std::function<bool(const Digest&)>& kept) const;

  // Whether pages on disk continue from the page `key`.
  bool has_children(const Digest& key) const;

  struct Step {
    Digest key;
    int32_t tokens;
  };
  // The pages of a chain that are there, from its last page `key` up to the first.
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

  std::unordered_map<Digest, Page> pages_;
  std::unordered_map<Digest, Children> children_;  // by parent
};

}  // namespace cascade
