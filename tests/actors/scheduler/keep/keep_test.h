// The rooms that decide which pages are kept, wired to each other as in the scheduler.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/disk/chunk_chains.h"
#include "actors/scheduler/disk/page_loader.h"
#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/keep/keep.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/request_table.h"
#include "cache/holders.h"
#include "tests/actors/scheduler/room_test.h"
#include "tests/actors/scheduler_world.h"

namespace cascade::testing {

class KeepTest : public RoomTest {
 protected:
  static constexpr size_t kPoolPages = 20;

  explicit KeepTest(size_t pages = kPoolPages) : RoomTest(pages) {
    on_removed_ = [this](const auto& erased, const auto& error) {
      removals_.pages_are_removed(erased, error);
    };
  }

  // An output of alice whose chain has `pages` pages, none of them in memory.
  ChunkEntry& output(const std::string& id, size_t pages) {
    ChunkEntry& entry = add(id, ChunkType::kOutput, count_up(0, 10));
    entry.chain = count_up(static_cast<int32_t>(entry.sequence) * 10'000, pages * kPageTokens);
    entry.own_begin = kPageTokens;
    return entry;
  }
  // An output like that of output(), whose chain is in memory and held.
  ChunkEntry& held_output(const std::string& id, size_t pages) {
    ChunkEntry& entry = output(id, pages);
    compute(entry.chain, alice_);
    holds_.take(entry);
    entry.chunk.kv_state = KvState::kReady;
    return entry;
  }
  void set_pinned(ChunkEntry& entry, bool pinned) {
    change_unnamed(entry.chunk, {.pinned = pinned});
    pins_.follow_holders(entry);
  }
  bool is_pinned(const ChunkEntry& entry) const {
    return entry.hold && memory_.index.is_pinned(*entry.hold);
  }
  // Lets the writer write until it has nothing to write. Returns how many pages it wrote. Messages
  // of others are lost.
  size_t write_all(const std::optional<Error>& error = {}) {
    size_t pages = 0;
    while (true) {
      writer_.write_pages([] { return 100; });
      if (!writer_.is_writing()) return pages;
      for (const wire::StorePages& message : take<wire::StorePages>()) {
        pages += message.pages.size();
        writer_.on(wire::StorePagesDone{.job = message.job, .error = error, .removed = {}});
      }
      if (error) return pages;
    }
  }
  // Answers the only read of a chain that is under way.
  void answer_read(Tokens tokens, int64_t begin = -1) {
    const auto reads = take<wire::ReadChain>();
    ASSERT_EQ(reads.size(), 1u);
    wire::StoredChain chain;
    chain.job = reads[0].job;
    chain.token_ids = std::move(tokens);
    chain.begin = begin;
    chains_.on(std::move(chain));
  }
  // The chunks whose chains wait to be computed.
  std::vector<std::string> queued() const {
    std::vector<std::string> ids;
    for (const Reprefill& reprefill : idle_.queue()) ids.push_back(reprefill.chunk_id);
    return ids;
  }
  // Computes the first chain of the idle prefill to its end.
  void compute_idle() {
    if (!idle_.start()) return;
    const wire::PrefillJob slice = idle_.slice(std::ssize(idle_.first().chain));
    idle_.ended(slice.token_ids, SliceEnd::kComputed);
  }

  MetadataWriter metadata_{clock_,
                           jobs_,
                           outbox_,
                           "model",
                           [](const StoredName&) {},
                           [this](const StoredName& name, const std::optional<Error>& error) {
                             removals_.row_is_removed(name, error);
                           }};
  PageWriter writer_{
      /*keeps_pages=*/true, clock_,   jobs_,   outbox_,
      memory_.index,        tenants_, stored_, tell_of_writing(keep_, chains_)};
  ChunkChains chains_{/*keeps_pages=*/true,
                      "model",
                      jobs_,
                      outbox_,
                      tenants_,
                      stored_,
                      writer_,
                      metadata_,
                      tell_of_chains(keep_)};
  SpeedEstimate speed_;
  PageLoader loader_{
      jobs_, outbox_, memory_.index, stored_, kPageBytes, speed_, [](auto&&...) { return false; }};
  ChainRestores restores_{/*state_bytes=*/1, clock_,  jobs_,
                          outbox_,           caches_, stored_,
                          stored_states_,    loader_, {}};
  IdlePrefill idle_{{.reprefills_max = 10, .slice_tokens_max = 512, .attention = {}},
                    clock_,
                    jobs_,
                    outbox_,
                    caches_,
                    tenants_,
                    registry_,
                    loader_,
                    restores_,
                    tell_of_idle(keep_)};
  RequestTable requests_;
  std::vector<ChunkUses::ChunkName> texts_gone_;  // of chunks
  std::vector<std::string> sessions_removed_;
  Keep keep_{
      {.keeps_pages = true,
       .pages = {kPoolPages, kPageBytes, kDiskPageBytes},
       .page_uses_max = 100,
       .holds = {.memory_ratio = 0.9, .leases_max = 2},
       .max_pinned = 0.5,
       .summaries = {}},
      demo_model(),
      clock_,
      outbox_,
      memory_.index,
      tenants_,
      registry_,
      requests_,
      erasures_,
      metadata_,
      stored_,
      writer_,
      chains_,
      idle_,
      {.text_is_gone = [this](const ChunkUses::ChunkName& chunk) { texts_gone_.push_back(chunk); },
       .save_session = [this](const StoredName& name) { sessions_removed_.push_back(name.id); }}};
  TextUses& uses_ = keep_.uses;
  ChunkHolds& holds_ = keep_.holds;
  PinBudget& budget_ = keep_.pin_budget;
  PinnedTexts& texts_ = keep_.pinned_texts;
  ChunkPins& pins_ = keep_.pins;
  PageLifecycle& lifecycle_ = keep_.lifecycle;
  PinReplies& replies_ = keep_.pin_replies;
  ChunkRemovals& removals_ = keep_.removals;
};

}  // namespace cascade::testing
