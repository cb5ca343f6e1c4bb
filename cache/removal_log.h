// Why pages left the chain tree lately: what a request is told that does not find one of them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
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
  RemovalLog(size_t capacity, uint64_t salt) : capacity_(capacity), salt_(salt) {}

  // A page with `tokens` (1..64) behind the node with the key `parent` is gone. `owner`: whose it
  // was.
  void add(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens, Removal why);

  // Why a page is gone: of the removed ones of `owner` behind `parent` the one that had most of
  // `tokens` (up to 64, those that a prompt has there), and more than the first `found`; of several
  // the latest. nullopt if there was none.
  std::optional<Removal> find(const Digest& parent, uint32_t owner, std::span<const int32_t> tokens,
                              size_t found) const;

  size_t size() const { return entries_.size(); }

 private:
  using Beginnings = std::array<uint32_t, kPageTokens>;
  struct Entry {
    Digest parent;
    std::optional<uint64_t> previous;  // entry of the same parent
    uint32_t owner;
    Removal why;
    size_t count;           // of tokens
    Beginnings beginnings;  // [count]: hashes of the first i + 1 tokens
  };

  Beginnings hash(std::span<const int32_t> tokens) const;
  // The entry with this number, or nullptr if it is forgotten.
  const Entry* entry(std::optional<uint64_t> number) const;

  const size_t capacity_;
  const uint64_t salt_;
  std::vector<Entry> entries_;  // entry n at n % capacity
  uint64_t added_ = 0;
  std::unordered_map<Digest, uint64_t> latest_;  // by parent
};

}  // namespace cascade
