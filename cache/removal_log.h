// Why pages left the chain tree lately: a request that does not find one of them is told the
// reason.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/hash.h"
#include "cache/kv_view.h"

namespace cascade {

// Why a page left the index.
enum class Removal {
  kEvicted,  // to make room
  kDead,     // on a branch that no request can reach any more
  kDeleted,  // with its chunk
  kExpired,  // with its chunk
};
inline constexpr size_t kRemovals = 4;

// Remembers the last `capacity` removals. It keeps no token ids, since deleted text must not
// survive: only 32 bits of a salted hash of each beginning of a page. A collision only leads to a
// wrong explanation. One thread.
class RemovalLog {
 public:
  // `salt` differs between processes, so that nobody can construct beginnings that collide.
  RemovalLog(size_t capacity, uint64_t salt);
  RemovalLog(const RemovalLog&) = delete;
  RemovalLog& operator=(const RemovalLog&) = delete;

  // Notes that a page of `owner` with `tokens` (1..64), after the node with the key `parent`, was
  // removed. Time: logarithmic in the capacity, as for find().
  void add(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens, Removal why);

  // Returns why a page was removed. `tokens` are the up to 64 tokens that a prompt has after
  // `parent`. Of the removed pages of `owner` there that share more than the first `found` tokens,
  // the one that shares most gives the reason; if there are several of these, but not many, the
  // latest. nullopt if there was none.
  std::optional<Removal> find(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens,
                              size_t found) const;

  size_t size() const { return entries_.size(); }

 private:
  using Beginnings = std::array<uint32_t, kPageTokens>;
  struct Entry {
    Digest parent;
    uint32_t owner;
    uint64_t number;  // counts all entries that were added
    Removal why;
    size_t count;           // of tokens
    Beginnings beginnings;  // [count]: hashes of the first i + 1 tokens
  };
  // Orders by parent, owner and beginnings, so that entries that share most are neighbours.
  struct Before {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  using Order = std::set<const Entry*, Before>;

  Beginnings hash(std::span<const int32_t> tokens) const;

  const size_t capacity_;
  const uint64_t salt_;
  std::vector<Entry> entries_;  // entry n at n % capacity; reserved, so that they stay in place
  uint64_t added_ = 0;
  Order order_;  // only the latest of equal entries
};

}  // namespace cascade
