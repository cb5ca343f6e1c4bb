// Pages on their way from disk into memory.
#include "actors/scheduler/disk/page_loader.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cache/chain_key.h"
#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::first_of;
using testing::Tokens;

class PageLoaderTest : public testing::RoomTest {
 protected:
  PageLoaderTest() : RoomTest(200) {}

  // Makes the store's index say that the chain is on disk.
  void store(const Tokens& tokens) {
    Digest parent = key_of(memory_.index.root());
    const Digest* tenant = tenant_key_behind(memory_.index, memory_.index.root(), memory_.tenant);
    for (size_t begin = 0; begin < tokens.size(); begin += kPageTokens) {
      const size_t count = std::min<size_t>(kPageTokens, tokens.size() - begin);
      const Digest key =
          chain_key(parent, begin == 0 ? tenant : nullptr, std::span(tokens).subspan(begin, count));
      stored_.add(key, parent, static_cast<int32_t>(count));
      parent = key;
    }
  }
  DiskIndex::Match worth(const Tokens& wanted) {
    return loader_.worth_loading(memory_.tenant, wanted,
                                 memory_.index.match(memory_.tenant, wanted));
  }
  bool start(const Tokens& wanted) {
    return loader_.start(*sequence_, /*handle=*/7, wanted, worth(wanted));
  }
  std::vector<wire::LoadPages> asked() {
    std::vector<wire::LoadPages> messages = take<wire::LoadPages>();
    if (!messages.empty()) job_ = messages.back().job;
    return messages;
  }
  void answer(int64_t good, std::optional<Error> error = {}, int64_t load_us = 100) {
    wire::LoadPagesDone done;
    done.job = job_;
    done.good = good;
    done.load_us = load_us;
    done.error = std::move(error);
    loader_.on(done);
  }

  SpeedEstimate speed_;
  std::unique_ptr<ChainSequence> sequence_ = memory_.sequence();
  struct Loaded {
    uint64_t handle;
    Tokens tokens;
    bool more;
  };
  std::vector<Loaded> loaded_;
  bool goes_on_ = true;
  uint64_t job_ = 0;
  PageLoader loader_{jobs_,
                     outbox_,
                     memory_.index,
                     stored_,
                     kPageBytes,
                     speed_,
                     [this](uint64_t handle, std::span<const int32_t> tokens, bool more) {
                       loaded_.push_back({handle, {tokens.begin(), tokens.end()}, more});
                       sequence_->commit(tokens, 0);
                       return goes_on_;
                     }};
};

TEST_F(PageLoaderTest, reads_into_the_pages_of_the_sequence) {
  const Tokens chain = count_up(0, 150);
  store(chain);
  EXPECT_EQ(worth(chain).tokens, 150);
  ASSERT_TRUE(start(chain));
  const auto messages = asked();
  ASSERT_EQ(messages.size(), 1u);
  ASSERT_EQ(messages[0].pages.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(messages[0].pages[i].page, sequence_->pages()[i]);
  EXPECT_EQ(messages[0].pages[2].token_ids.size(), 22u);
  answer(3);
  ASSERT_EQ(loaded_.size(), 1u);
  EXPECT_EQ(loaded_[0].handle, 7u);
  EXPECT_EQ(loaded_[0].tokens, chain);
  EXPECT_FALSE(loaded_[0].more);
  EXPECT_EQ(stored_.counters().pages_loaded, 3);
  EXPECT_EQ(loader_.bytes_per_us(), 30);
  EXPECT_FALSE(jobs_.owes(Actor::kStore));
}

TEST_F(PageLoaderTest, a_long_chain_is_read_in_parts_while_it_is_wanted) {
  const Tokens chain = count_up(0, 140 * 64);
  store(chain);
  ASSERT_TRUE(start(chain));
  EXPECT_EQ(asked().at(0).pages.size(), 128u);
  answer(128);
  ASSERT_EQ(loaded_.size(), 1u);
  EXPECT_TRUE(loaded_[0].more);
  const auto rest = asked();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].pages.size(), 12u);
  EXPECT_EQ(rest[0].pages[0].page, sequence_->pages()[128]);
  answer(12);
  ASSERT_EQ(loaded_.size(), 2u);
  EXPECT_EQ(loaded_[1].tokens.front(), 128 * 64);
  EXPECT_EQ(sequence_->tokens(), chain);
}

TEST_F(PageLoaderTest, ends_when_the_rest_is_not_wanted) {
  const Tokens chain = count_up(0, 140 * 64);
  store(chain);
  ASSERT_TRUE(start(chain));
  ASSERT_EQ(asked().size(), 1u);
  goes_on_ = false;
  answer(128);
  EXPECT_TRUE(asked().empty());
  EXPECT_FALSE(jobs_.owes(Actor::kStore));
}

TEST_F(PageLoaderTest, a_damaged_page_ends_the_load_and_is_forgotten) {
  const Tokens chain = count_up(0, 192);
  store(chain);
  ASSERT_TRUE(start(chain));
  ASSERT_EQ(asked().size(), 1u);
  answer(1, Error{ErrorCode::kDataCorrupt, "", "a checksum differs"});
  ASSERT_EQ(loaded_.size(), 1u);
  EXPECT_EQ(loaded_[0].tokens.size(), 64u);
  EXPECT_FALSE(loaded_[0].more);
  EXPECT_TRUE(asked().empty());
  EXPECT_EQ(stored_.disk().size(), 2u);
  EXPECT_EQ(stored_.counters().pages_bad, 1);
}

TEST_F(PageLoaderTest, a_restart_of_the_store_ends_the_load) {
  store(count_up(0, 64));
  ASSERT_TRUE(start(count_up(0, 64)));
  ASSERT_EQ(asked().size(), 1u);
  jobs_.lose(Actor::kStore);
  ASSERT_EQ(loaded_.size(), 1u);
  EXPECT_TRUE(loaded_[0].tokens.empty());
  EXPECT_FALSE(loaded_[0].more);
  answer(1);
  EXPECT_EQ(loaded_.size(), 1u) << "the answer of an earlier incarnation";
}

TEST_F(PageLoaderTest, computes_what_is_computed_sooner_than_read) {
  const Tokens chain = count_up(0, 64);
  EXPECT_EQ(worth(chain).tokens, 0) << "nothing is on disk";
  store(chain);
  EXPECT_EQ(worth(chain).tokens, 64);
  speed_.add_prefill(1000, 1000);  // 64 us for the page
  EXPECT_EQ(worth(chain).tokens, 0);
  const Tokens longer = count_up(0, 64 * 20);
  store(longer);
  EXPECT_EQ(worth(longer).tokens, 64 * 20) << "what a load costs in any case counts less";
}

TEST_F(PageLoaderTest, does_not_start_without_room) {
  store(count_up(0, 64 * 10));
  ChainMemory small(4);
  const auto sequence = small.sequence();
  const Tokens chain = count_up(0, 64 * 10);
  EXPECT_FALSE(loader_.start(*sequence, 1, chain, worth(chain)));
  EXPECT_FALSE(loader_.start(*sequence, 1, chain, DiskIndex::Match()));
  EXPECT_TRUE(asked().empty());
}

TEST_F(PageLoaderTest, prefetches_each_page_of_used_chunks_once) {
  const Tokens chain = count_up(0, 192);
  store(chain);
  const std::vector<Digest> path = stored_.path_of(memory_.tenant, chain);
  ChunkEntry turn;
  ChunkEntry next;
  ChunkEntry without;
  turn.chunk.kv_key = path[1].hex();
  next.chunk.kv_key = path[2].hex();
  loader_.prefetch({&turn, &next, &without});
  const std::vector<std::string> keys = take<wire::PrefetchPages>().at(0).keys;
  EXPECT_EQ(keys, (std::vector{path[0].hex(), path[1].hex(), path[2].hex()}));
}

}  // namespace
}  // namespace cascade
