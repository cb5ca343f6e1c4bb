// Memory for chains that are longer than it, and a disk for their other pages.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <ranges>
#include <span>
#include <vector>

#include "tests/cache/chain_memory.h"
#include "tests/cache/testing.h"

namespace cascade::testing {

// Memory for `pages` pages, and a disk without limits whose pages are found by lease.
class PagedMemory : public ChainMemory {
 public:
  explicit PagedMemory(size_t pages) : ChainMemory(pages) {}

  std::unique_ptr<ChainSequence> reader() {
    return std::make_unique<ChainSequence>(index, pool, arena, tenant, ChainIndex::Use::kReader);
  }
  void finish(std::unique_ptr<ChainSequence> sequence, int64_t now_us) {
    sequence->finish(now_us);
    sequence.reset();
    take_unused();
  }

  // Spills the last page of the sequence that can be spilled.
  bool spill_one(const ChainSequence& sequence) {
    for (ChainIndex::Node* node : std::views::reverse(sequence.nodes())) {
      if (!can_spill(node)) continue;
      index.spill(node);
      return true;
    }
    return false;
  }

  // Stores and leases all pages of the sequence that lack only a lease.
  void lease_all(ChainSequence& sequence) {
    for (ChainIndex::Node* node : sequence.nodes()) {
      if (!waits_for_lease(node)) continue;
      const uint8_t* bytes = arena.data(page_of(node));
      disk[next_lease_] = {bytes, bytes + kPageBytes};
      index.set_lease(node, next_lease_++);
    }
    take_unused();
  }

  // Computes in steps that leave each page a lease before the next one is needed.
  bool compute_long(ChainSequence& sequence, std::span<const int32_t> tokens, int64_t now_us) {
    for (size_t at = 0; at < tokens.size(); at += kPageTokens) {
      const size_t count = std::min<size_t>(kPageTokens, tokens.size() - at);
      if (!sequence.reserve(sequence.committed() + static_cast<int64_t>(count))) return false;
      write(sequence, tokens.subspan(at, count));
      sequence.commit(tokens.subspan(at, count), now_us);
      lease_all(sequence);
    }
    sequence.refresh();
    return true;
  }

  bool intact_anywhere(ChainSequence& sequence) {
    sequence.refresh();
    uint64_t proof = 0;
    for (size_t i = 0; i < sequence.tokens().size(); ++i) {
      proof = extend_proof(proof, sequence.tokens()[i]);
      const PageIndex page = sequence.pages()[i / kPageTokens];
      if (page == kLostPage) continue;
      const uint8_t* bytes =
          in_memory(page) ? arena.data(page) : disk.at(page & ~kLeasedPage).data();
      uint64_t held;
      std::memcpy(&held, bytes + i % kPageTokens * sizeof held, sizeof held);
      if (held != proof) return false;
    }
    return true;
  }

  void take_unused(bool of_idle = false) {
    for (const uint32_t lease : index.take_unused_leases(of_idle)) {
      ASSERT_EQ(disk.erase(lease), 1u) << "a lease is released once";
    }
  }

  // Writes page `page` of the chain again, as a job that computes it does.
  void restore(ChainSequence& sequence, size_t page) {
    const auto memory = sequence.reserve_lost(page);
    ASSERT_TRUE(memory.has_value());
    uint64_t proof = 0;
    for (size_t i = 0; i < (page + 1) * kPageTokens; ++i) {
      proof = extend_proof(proof, sequence.tokens()[i]);
      if (i < page * kPageTokens) continue;
      std::memcpy(arena.data(*memory) + i % kPageTokens * sizeof proof, &proof, sizeof proof);
    }
    sequence.restore(page, *memory, kSecond);
  }

  std::map<uint32_t, std::vector<uint8_t>> disk;

 private:
  void write(ChainSequence& sequence, std::span<const int32_t> tokens) {
    uint64_t proof = 0;
    for (const int32_t token : sequence.tokens()) proof = extend_proof(proof, token);
    for (size_t i = 0; i < tokens.size(); ++i) {
      proof = extend_proof(proof, tokens[i]);
      const size_t position = sequence.tokens().size() + i;
      uint8_t* page = arena.data(sequence.pages()[position / kPageTokens]);
      std::memcpy(page + position % kPageTokens * sizeof proof, &proof, sizeof proof);
    }
  }

  uint32_t next_lease_ = 0;
};

}  // namespace cascade::testing
