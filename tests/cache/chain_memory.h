// A page pool, an arena and a chain index. Instead of K and V, each slot of a page has a hash of
// every token up to it, which proves what chain the slot belongs to.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "cache/chain_index.h"
#include "cache/chain_sequence.h"
#include "cache/page_arena.h"
#include "cache/page_pool.h"

namespace cascade::testing {

using Tokens = std::vector<int32_t>;

// What the slot of `token` must hold if the slot before it holds `proof`.
inline uint64_t extend_proof(uint64_t proof, int32_t token) {
  return counter_random(proof, static_cast<uint64_t>(static_cast<uint32_t>(token)) + 1);
}

class ChainMemory {
 public:
  static constexpr size_t kPageBytes = kPageTokens * sizeof(uint64_t);

  explicit ChainMemory(size_t pages, std::string_view root = "root",
                       EvictionPolicy policy = EvictionPolicy::kHybrid)
      : arena(*PageArena::create(kPageBytes, pages)),
        pool(pages),
        index(Hasher().field("root", root).finish(), pool, policy),
        tenant(index.add_tenant(Hasher().field("tenant", "first").finish())) {}

  std::unique_ptr<ChainSequence> sequence() { return sequence_of(tenant); }
  std::unique_ptr<ChainSequence> sequence_of(TenantId owner) {
    return std::make_unique<ChainSequence>(index, pool, arena, owner);
  }

  // Reserves, writes and commits `tokens`. False if there is no room.
  bool compute(ChainSequence& sequence, std::span<const int32_t> tokens, int64_t now_us) {
    const int64_t begin = sequence.committed();
    if (!sequence.reserve(begin + static_cast<int64_t>(tokens.size()))) return false;
    uint64_t proof = 0;
    for (const int32_t token : sequence.tokens()) proof = extend_proof(proof, token);
    for (size_t i = 0; i < tokens.size(); ++i) {
      proof = extend_proof(proof, tokens[i]);
      const size_t position = static_cast<size_t>(begin) + i;
      uint8_t* page = arena.data(sequence.pages()[position / kPageTokens]);
      std::memcpy(page + position % kPageTokens * sizeof proof, &proof, sizeof proof);
    }
    sequence.commit(tokens, now_us);
    return true;
  }

  // Whether every committed token's slot holds what was computed for exactly this chain.
  bool intact(const ChainSequence& sequence) const {
    uint64_t proof = 0;
    for (size_t i = 0; i < sequence.tokens().size(); ++i) {
      proof = extend_proof(proof, sequence.tokens()[i]);
      uint64_t held;
      const uint8_t* page = arena.data(sequence.pages()[i / kPageTokens]);
      std::memcpy(&held, page + i % kPageTokens * sizeof held, sizeof held);
      if (held != proof) return false;
    }
    return true;
  }

  // Runs a sequence of `tokens` from start to end. Returns how many tokens it could reuse.
  int64_t run(std::span<const int32_t> tokens, int64_t now_us) {
    const auto running = sequence();
    const int64_t reused = running->reuse(tokens, now_us);
    EXPECT_TRUE(intact(*running));
    EXPECT_TRUE(compute(*running, tokens.subspan(static_cast<size_t>(reused)), now_us));
    EXPECT_TRUE(intact(*running));
    running->finish(now_us);
    return reused;
  }

  // How many of `tokens` a sequence would find.
  int64_t available(std::span<const int32_t> tokens) const {
    return index.match(tenant, tokens).tokens();
  }

  PageArena arena;
  PagePool pool;
  ChainIndex index;
  TenantId tenant;
};

// `count` tokens from `first` on. Two different firsts give chains that differ from the first token
// on.
inline Tokens count_up(int32_t first, size_t count) {
  Tokens tokens(count);
  for (size_t i = 0; i < count; ++i) tokens[i] = first + static_cast<int32_t>(i);
  return tokens;
}

inline Tokens join(Tokens a, const Tokens& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline Tokens first_of(const Tokens& tokens, size_t count) {
  return Tokens(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace cascade::testing
