// Why pages left the chain tree lately: what a request is told that does not find one of them.
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

// Remembers the last `capacity` removals. No token ids: what was deleted is to be gone; of each
// beginning of a page 32 bits of a salted hash are kept; a collision is a wrong explanation and
// nothing else. One thread.
class RemovalLog {
 public:
  // `salt`: differs between processes, so that nobody can make beginnings that collide.
  RemovalLog(size_t capacity, uint64_t salt);
  RemovalLog(const RemovalLog&) = delete;
  RemovalLog& operator=(const RemovalLog&) = delete;

  // A page with `tokens` (1..64) behind the node with the key `parent` is gone. `owner`: whose it
  // was. Time: logarithmic in the capacity, as of find().
  void add(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens, Removal why);

  // Why a page is gone: of the removed ones of `owner` behind `parent` the one that had most of
  // `tokens` (up to 64, those that a prompt has there), and more than the first `found`; of several
  // the latest, if they are few. nullopt if there was none.
  std::optional<Removal> find(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens,
                              size_t found) const;

  size_t size() const { return entries_.size(); }

 private:
  using Beginnings = std::array<uint32_t, kPageTokens>;
  struct Entry {
    Digest parent;
    uint32_t owner;
    uint64_t number;  // counts all that were added
    Removal why;
    size_t count;           // of tokens
    Beginnings beginnings;  // [count]: hashes of the first i + 1 tokens
  };
  // By parent, owner and beginnings, so that those that share most are neighbours.
  struct Before {
    bool operator()(const Entry* a, const Entry* b) const;
  };
  using Order = std::set<const Entry*, Before>;

  Beginnings hash(std::span<const int32_t> tokens) const;

  const size_t capacity_;
  const uint64_t salt_;
  std::vector<Entry> entries_;  // entry n at n % capacity; reserved, so that they stay in place
  uint64_t added_ = 0;
  Order order_;  // of equal entries the latest only
};

}  // namespace cascade
