// Which pages have text of which chunks: what goes from caches when a chunk is deleted.
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

// A page is named by its chain key, in memory and on disk. What is noted of pages that are not
// there any more is forgotten at some time, so that this grows with the pages that are there. One
// thread.
class ChunkUses {
 public:
  using ChunkName = std::pair<std::string, std::string>;  // the owner's name, id
  struct Use {
    Digest page;
    int64_t position = 0;  // of the page's first token
    // 0: the text goes on after the page; n + 1: it ends with the page's n-th token; 1: it ends in
    // the page, and nobody knows where, since an earlier version noted it.
    int32_t ends = 0;
  };

  // Whether a page is still somewhere. Those that are not are forgotten now and then, once half of
  // `uses_max` uses are noted. Beyond uses_max new ones are not noted.
  using IsThere = std::function<bool(const Digest&)>;
  ChunkUses(size_t uses_max, IsThere is_there)
      : uses_max_(uses_max), is_there_(std::move(is_there)) {}

  // True if that was not known, or not where the text ends, and is now.
  bool add(const ChunkName& chunk, const Use& use);
  // The chunk's pages, those at the end of chains first. They are forgotten.
  std::vector<Use> take(const ChunkName& chunk);
  // The same, and they stay.
  std::vector<Use> of(const ChunkName& chunk) const;
  // Calls visit(chunk, ends) for each chunk that has text in the page; `ends` as in Use.
  void for_chunks_of(const Digest& page,
                     const std::function<void(const ChunkName&, int32_t)>& visit) const;
  // The page is called `to` now: chunks that have text in `from` have it there as well.
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
