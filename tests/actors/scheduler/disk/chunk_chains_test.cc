// Chains of chunks in the store.
#include "actors/scheduler/disk/chunk_chains.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::Tokens;

class ChunkChainsTest : public testing::RoomTest {
 protected:
  ChunkChainsTest() {
    entry_.chunk.tenant = "alice";
    entry_.chunk.id = "output_a";
    entry_.chain = count_up(0, 100);
    entry_.own_begin = 30;
  }

  // Lets the writer write until it has nothing to write.
  void write_all() {
    while (true) {
      writer_.write_pages([] { return 100; });
      if (!writer_.is_writing()) return;
      for (const wire::StorePages& message : take<wire::StorePages>()) {
        writer_.on(wire::StorePagesDone{.job = message.job, .error = {}, .removed = {}});
      }
    }
  }
  static wire::StoredChain chain_of(uint64_t job, Tokens tokens) {
    wire::StoredChain chain;
    chain.job = job;
    chain.token_ids = std::move(tokens);
    return chain;
  }
  // Whether the store was told that the chunk's K and V are not pending any more.
  bool is_settled() {
    const auto chains = take<wire::StoreChain>();
    return chains.size() == 1 && !chains[0].pending && chains[0].token_ids.empty();
  }

  MetadataWriter metadata_{clock_,
                           jobs_,
                           outbox_,
                           "model",
                           [](const StoredName&) {},
                           [](const StoredName&, const std::optional<Error>&) {}};
  PageWriter writer_{/*keeps_pages=*/true,
                     clock_,
                     jobs_,
                     outbox_,
                     memory_.index,
                     tenants_,
                     stored_,
                     {.is_awaited = [](const StoredName&) { return false; },
                      .uses_of = [](const NamedPage&) { return std::vector<wire::PageUse>(); },
                      .written = [this](const Digest& end) { chains_.note_written(end); },
                      .chains_ended = [] {},
                      .failed = [](const Error&, const auto&) {},
                      .ended = [](const Writing&) {}}};
  std::vector<std::pair<std::string, Tokens>> read_;
  ChunkChains chains_{/*keeps_pages=*/true,
                      "model",
                      jobs_,
                      outbox_,
                      tenants_,
                      stored_,
                      writer_,
                      metadata_,
                      [this](const ChainWanted& wanted, wire::StoredChain&& chain) {
                        read_.emplace_back(wanted.name.id, std::move(chain.token_ids));
                      }};
  ChunkEntry entry_;
};

TEST_F(ChunkChainsTest, a_chain_is_pending_until_it_is_settled) {
  chains_.store(entry_, entry_.chain, 30, /*pending=*/true);
  const auto stored = take<wire::StoreChain>();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_EQ(stored[0].token_ids, entry_.chain);
  EXPECT_EQ(stored[0].begin, 30);
  EXPECT_TRUE(stored[0].pending);
  chains_.settle({"alice", "output_a"});
  EXPECT_TRUE(is_settled());
}

TEST_F(ChunkChainsTest, a_chain_that_is_kept_is_settled_when_it_is_on_disk) {
  compute(entry_.chain, alice_);
  chains_.keep(entry_);
  EXPECT_EQ(entry_.chunk.kv_begin, 30);
  const std::string end = entry_.chunk.kv_key;
  EXPECT_FALSE(end.empty());
  EXPECT_TRUE(take<wire::StoreChain>().empty());
  write_all();
  EXPECT_TRUE(is_settled());
  EXPECT_EQ(stored_.disk().path(*Digest::from_hex(end)).size(), 2u);
}

TEST_F(ChunkChainsTest, a_chain_that_is_on_disk_is_settled_at_once) {
  compute(entry_.chain, alice_);
  chains_.keep(entry_);
  write_all();
  outbox_.take();
  chains_.keep(entry_);
  EXPECT_TRUE(is_settled());
}

TEST_F(ChunkChainsTest, a_chain_that_is_in_memory_in_part_is_not_kept) {
  compute(Tokens(entry_.chain.begin(), entry_.chain.begin() + 64), alice_);
  chains_.keep(entry_);
  EXPECT_TRUE(entry_.chunk.kv_key.empty());
  EXPECT_TRUE(writer_.is_idle());
}

TEST_F(ChunkChainsTest, a_chunk_with_another_end_is_not_settled_by_the_former_one) {
  compute(entry_.chain, alice_);
  chains_.keep(entry_);
  chains_.set_end(entry_, "");
  EXPECT_TRUE(entry_.chunk.kv_key.empty());
  write_all();
  EXPECT_TRUE(take<wire::StoreChain>().empty());
}

TEST_F(ChunkChainsTest, the_last_page_of_a_chunk_stays_when_pages_before_it_are_removed) {
  compute(entry_.chain, alice_);
  chains_.keep(entry_);
  write_all();
  const Digest end = *Digest::from_hex(entry_.chunk.kv_key);
  const Digest first = stored_.path_of(alice_, entry_.chain).front();
  stored_.remove_from(first);
  EXPECT_TRUE(stored_.disk().contains(end));
  chains_.set_end(entry_, "");
  stored_.remove_from(end);
  EXPECT_FALSE(stored_.disk().contains(end));
}

TEST_F(ChunkChainsTest, reads_a_chain_again_when_the_store_is_restarted) {
  chains_.read({{"alice", "output_a"}, "key"});
  const auto first = take<wire::ReadChain>();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].key, "key");
  EXPECT_EQ(first[0].model, "model");
  jobs_.lose(Actor::kStore);
  const auto again = take<wire::ReadChain>();
  ASSERT_EQ(again.size(), 1u);
  chains_.on(chain_of(first[0].job, {1}));
  EXPECT_TRUE(read_.empty()) << "the answer of an earlier incarnation";
  chains_.on(chain_of(again[0].job, {1, 2}));
  ASSERT_EQ(read_.size(), 1u);
  EXPECT_EQ(read_[0].second, (Tokens{1, 2}));
}

TEST_F(ChunkChainsTest, without_a_state_directory_nothing_is_stored) {
  ChunkChains chains(/*keeps_pages=*/false, "model", jobs_, outbox_, tenants_, stored_, writer_,
                     metadata_, [](const ChainWanted&, wire::StoredChain&&) {});
  compute(entry_.chain, alice_);
  chains.store(entry_, entry_.chain, 0, /*pending=*/true);
  chains.keep(entry_);
  chains.settle({"alice", "output_a"});
  EXPECT_TRUE(outbox_.take().empty());
  EXPECT_TRUE(entry_.chunk.kv_key.empty());
}

}  // namespace
}  // namespace cascade
