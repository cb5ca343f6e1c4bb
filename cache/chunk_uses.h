// Which pages contain text of which chunks: these pages leave the caches when the chunk is deleted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/hash.h"

namespace cascade {

// A page is named by its chain key, in memory and on disk. The notes of pages that no longer exist
// are forgotten from time to time, so that the memory grows only with the pages that exist. One
// thread.
class ChunkUses {
 public:
  using ChunkName = std::pair<std::string, std::string>;  // the owner's name, id
  struct Use {
    Digest page;
    int64_t position = 0;  // of the page's first token
    // 0: the text continues after the page. n + 1: it ends with the page's n-th token. 1: it ends
    // in the page, but nobody knows where, because an earlier version noted it.
    int32_t ends = 0;
  };

  // Whether a page still exists somewhere. Uses of other pages are forgotten now and then, once
  // half of `uses_max` uses are noted. Beyond `uses_max`, new uses are not noted.
  using IsThere = std::function<bool(const Digest&)>;
  ChunkUses(size_t uses_max, IsThere is_there)
      : uses_max_(uses_max), is_there_(std::move(is_there)) {}

  // True if the use, or where its text ends, was not known before and is now.
  bool add(const ChunkName& chunk, const Use& use);
  // Returns the chunk's pages, those at the end of chains first, and forgets them.
  std::vector<Use> take(const ChunkName& chunk);
  // Returns the chunk's pages, in any order, and keeps them.
  std::vector<Use> of(const ChunkName& chunk) const;
  // Calls visit(chunk, ends) for each chunk that has text in the page; `ends` as in Use.
  void for_chunks_of(const Digest& page,
                     const std::function<void(const ChunkName&, int32_t)>& visit) const;
  // Notes that page `from` is now called `to`: chunks that have text in `from` also have it in
  // `to`.
  void copy(const Digest& from, const Digest& to);
  size_t size() const { return size_; }

 private:
  struct Place {
    int64_t position;
    int32_t ends;
  };
  using Pages = std::unordered_map<Digest, Place>;
  using ByChunk = std::map<ChunkName, Pages>;

  void sweep();
  void forget(const Digest& page, ByChunk::iterator chunk);

  const size_t uses_max_;
  const IsThere is_there_;
  ByChunk by_chunk_;
  std::unordered_map<Digest, std::vector<ByChunk::iterator>> by_page_;
  size_t size_ = 0;
  size_t new_since_sweep_ = 0;
};

}  // namespace cascade
