// The rooms that decide which pages are kept, wired to each other as in the scheduler.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/chunk_chains.h"
#include "actors/scheduler/chunk_holds.h"
#include "actors/scheduler/chunk_pins.h"
#include "actors/scheduler/idle_prefill.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/page_lifecycle.h"
#include "actors/scheduler/page_loader.h"
#include "actors/scheduler/page_writer.h"
#include "actors/scheduler/pin_budget.h"
#include "actors/scheduler/pinned_texts.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/text_pins.h"
#include "actors/scheduler/text_uses.h"
#include "cache/holders.h"
#include "tests/actors/scheduler/room_test.h"

namespace cascade::testing {

class KeepTest : public RoomTest {
 protected:
  static constexpr size_t kPoolPages = 20;

  explicit KeepTest(size_t pages = kPoolPages) : RoomTest(pages) {}

  // An output of alice whose chain has so many pages, none of them in memory.
  ChunkEntry& output(const std::string& id, size_t pages) {
    ChunkEntry& entry = add(id, ChunkType::kOutput, count_up(0, 10));
    entry.chain = count_up(static_cast<int32_t>(entry.sequence) * 10'000, pages * kPageTokens);
    entry.own_begin = kPageTokens;
    return entry;
  }
  // Such an output, whose chain is in memory and held.
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
  // Lets the writer write until it has nothing to write; returns how many pages it wrote. Other
  // messages than those of the writer are lost.
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
  // Computes the first of the idle prefill to its end.
  void compute_idle() {
    if (!idle_.start()) return;
    const wire::PrefillJob slice = idle_.slice(std::ssize(idle_.first().chain));
    idle_.computed(slice.token_ids, /*failed=*/false);
  }

  MetadataWriter metadata_{clock_,
                           jobs_,
                           outbox_,
                           "model",
                           [](const StoredName&) {},
                           [this](const StoredName& name, const std::optional<Error>& error) {
                             if (on_row_removed_) on_row_removed_(name, error);
                           }};
  std::vector<std::pair<Error, std::optional<StoredName>>> write_failures_;
  PageWriter writer_{
      /*keeps_pages=*/true,
      clock_,
      jobs_,
      outbox_,
      memory_.index,
      tenants_,
      stored_,
      {.is_awaited = [](const StoredName&) { return false; },
       .uses_of = [this](const NamedPage& page) { return uses_.of(page); },
       .written = [this](const Digest& end) { chains_.note_written(end); },
       .chains_ended = [] {},
       .failed = [this](const Error& error,
                        const auto& chunk) { write_failures_.emplace_back(error, chunk); },
       .ended =
           [this](const Writing& writing) {
             lifecycle_.writing_ended(writing);
             if (on_writing_ended_) on_writing_ended_(writing);
           }}};
  ChunkChains chains_{/*keeps_pages=*/true,
                      "model",
                      jobs_,
                      outbox_,
                      tenants_,
                      stored_,
                      writer_,
                      metadata_,
                      [this](const ChainWanted& wanted, wire::StoredChain&& chain) {
                        if (wanted.removed) {
                          if (on_removed_chain_) on_removed_chain_(wanted, std::move(chain));
                        } else if (wanted.text_end) {
                          texts_.text_is_read(wanted, std::move(chain));
                        } else {
                          pins_.chain_is_read(wanted, std::move(chain));
                        }
                      }};
  TextPins text_pins_{memory_.index, stored_.disk()};
  TextUses uses_{100,
                 outbox_,
                 memory_.index,
                 tenants_,
                 registry_,
                 stored_,
                 [this](const ChunkEntry& entry, const ChunkUses::Use& use) {
                   if (entry.chunk.pinned) texts_.pin_use(entry, use);
                 }};
  ChunkHolds holds_{{.memory_ratio = 0.9, .leases_max = 2},
                    clock_,
                    outbox_,
                    memory_.index,
                    kPoolPages,
                    kPageBytes,
                    tenants_,
                    stored_,
                    uses_,
                    text_pins_,
                    {.held =
                         [this](ChunkEntry& entry) {
                           if (entry.chunk.pinned) pins_.pin_held(entry);
                         },
                     .pin_lost = [this](const ChunkEntry& entry) { budget_.wait(entry); }}};
  SpeedEstimate speed_;
  PageLoader loader_{jobs_,
                     outbox_,
                     memory_.index,
                     stored_,
                     kPageBytes,
                     speed_,
                     [](auto&&...) { return nullptr; }};
  std::vector<std::pair<std::string, bool>> idle_ended_;
  IdlePrefill idle_{10,
                    clock_,
                    jobs_,
                    outbox_,
                    memory_.index,
                    memory_.pool,
                    memory_.arena,
                    tenants_,
                    registry_,
                    loader_,
                    {.ended =
                         [this](Reprefill&& ended, bool complete) {
                           idle_ended_.emplace_back(ended.chunk_id, complete);
                           const auto found = registry_.find_own(ended.tenant, ended.chunk_id);
                           if (!found.ok() || !ended.text_end) return;
                           texts_.text_is_computed(**found, ended, complete);
                         },
                     .lost = [](auto&&) {}}};
  RequestTable requests_;
  PinBudget budget_{0.5, kPoolPages, memory_.index, stored_, holds_, text_pins_, idle_, requests_};
  PinnedTexts texts_{memory_.index, tenants_, registry_, stored_, writer_,   chains_,
                     idle_,         uses_,    holds_,    budget_, text_pins_};
  std::vector<std::string> computed_;
  ChunkPins pins_{/*keeps_pages=*/true,
                  clock_,
                  memory_.index,
                  registry_,
                  stored_,
                  holds_,
                  budget_,
                  texts_,
                  chains_,
                  idle_,
                  [this](ChunkEntry& entry) { computed_.push_back(entry.chunk.id); }};
  MetadataWriter::RowRemoved on_row_removed_;
  std::function<void(const Writing&)> on_writing_ended_;
  ChunkChains::IsRead on_removed_chain_;
  PageLifecycle lifecycle_{memory_.index, tenants_, registry_, requests_, stored_,
                           writer_,       uses_,    holds_,    texts_,    pins_};
};

}  // namespace cascade::testing
