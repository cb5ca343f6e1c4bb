// The base of the tests of most rooms of the scheduler: an index with pages, the outbox, and stored
// pages.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/disk/page_spills.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/disk/stored_states.h"
#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/tenants.h"
#include "base/clock.h"
#include "cache/chain_start.h"
#include "cache/chunk_registry.h"
#include "cache/planner.h"
#include "tests/cache/chain_memory.h"

namespace cascade::testing {

// The pages of the chain that are in memory, from the first on.
inline std::vector<ChainIndex::Node*> nodes_of(const ChainIndex& index, TenantId owner,
                                               std::span<const int32_t> chain) {
  const ChainIndex::Match match = index.match(owner, chain);
  std::vector<ChainIndex::Node*> nodes = path_to(match.node);
  if (match.partial != nullptr) nodes.push_back(match.partial);
  return nodes;
}

class RoomTest : public ::testing::Test {
 protected:
  static constexpr size_t kPageBytes = 1000;  // with the index
  static constexpr size_t kDiskPageBytes = 990;

  explicit RoomTest(size_t pages = 20, size_t state_slots = 0)
      : memory_(pages), states_(state_slots, memory_.index) {
    outbox_.connect(Actor::kStore, "");
    outbox_.connect(Actor::kPrefill, "");
    outbox_.connect(Actor::kGateway, "alice");
  }

  // Computes the chain, which is then in memory.
  void compute(const Tokens& tokens, TenantId owner) {
    const auto sequence = memory_.sequence_of(owner);
    const auto found = static_cast<size_t>(sequence->reuse(tokens, clock_.wall_us()));
    ASSERT_TRUE(memory_.compute(*sequence, std::span(tokens).subspan(found), clock_.wall_us()));
    sequence->finish(clock_.wall_us());
  }
  // Evicts all pages that no running sequence uses and no pin keeps.
  void evict() {
    while (memory_.index.evict_one()) {
    }
  }
  // Registers a chunk of alice.
  ChunkEntry& add(const std::string& id, ChunkType type, Tokens text = {}) {
    Chunk chunk;
    chunk.id = id;
    chunk.tenant = "alice";
    chunk.type = type;
    chunk.text = id;
    chunk.token_ids = std::move(text);
    chunk.content_hash = Hasher().field("id", chunk.id).finish().hex();
    chunk.holders.push_back({.kind = HolderKind::kRetention, .label = ""});
    return **registry_.add(std::move(chunk));
  }
  // The messages of this type that were sent since the last call; the others are lost.
  template <class M>
  std::vector<M> take() {
    std::vector<M> messages;
    for (Outgoing& outgoing : outbox_.take()) {
      if (auto* message = std::get_if<M>(&outgoing.envelope.message)) {
        messages.push_back(std::move(*message));
      }
    }
    return messages;
  }

  PageSpills spills_of(size_t pool_pages, const SpeedEstimate& speed, const RequestTable& requests,
                       const ReaderSliceLimits& slices = {}, PageSpills::Adopted adopted = {},
                       bool keeps_pages = true, int64_t indexes_in_page = 1) {
    return {keeps_pages,
            {pool_pages, kPageBytes, indexes_in_page},
            slices,
            speed.prefill_time(),
            clock_,
            jobs_,
            outbox_,
            memory_.index,
            stored_,
            requests,
            std::move(adopted)};
  }

  ChainMemory memory_;
  StateTable states_;
  const ChainCaches caches_{memory_.index, memory_.pool, memory_.arena, states_};
  FakeClock clock_;
  Jobs jobs_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Tenants tenants_{memory_.index,
                   [](const std::string& name) { return Hasher().field("t", name).finish(); }};
  const TenantId alice_ = tenants_.id("alice");
  Erasures erasures_;
  StoredPages stored_{memory_.index,
                      erasures_,
                      jobs_,
                      outbox_,
                      [](const Digest&) { return false; },
                      [this](const auto& erased, const auto& error) {
                        if (on_removed_) on_removed_(erased, error);
                      }};
  StoredStates stored_states_{/*keeps_states=*/true, clock_,   jobs_,   outbox_,
                              memory_.index,         tenants_, states_, stored_};
  ChunkRegistry registry_;
  StoredPages::Removed on_removed_;
};

}  // namespace cascade::testing
