// Pages on their way to disk.
#include "actors/scheduler/disk/page_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::first_of;
using testing::Tokens;

class PageWriterTest : public testing::RoomTest {
 protected:
  PageWriterTest() : RoomTest(200) {}

  // The messages to the store since the last call.
  std::vector<wire::StorePages> sent(int64_t pages_max = 100) {
    writer_.write_pages([&] { return pages_max; });
    std::vector<wire::StorePages> messages;
    for (Outgoing& outgoing : outbox_.take()) {
      auto* pages = std::get_if<wire::StorePages>(&outgoing.envelope.message);
      if (pages != nullptr) messages.push_back(std::move(*pages));
      owners_ += std::holds_alternative<wire::StoreUses>(outgoing.envelope.message) ? 1 : 0;
    }
    if (!messages.empty()) job_ = messages.back().job;
    return messages;
  }
  void answer(std::optional<Error> error = {}) {
    writer_.on(wire::StorePagesDone{.job = job_, .error = std::move(error), .removed = {}});
  }
  static Error failure(const char* field) { return {ErrorCode::kInternal, field, "the disk"}; }

  const StoredName chunk_ = {"alice", "chunk_a"};
  std::set<StoredName> awaited_;
  std::vector<Digest> written_;
  int chains_ended_ = 0;
  std::vector<std::pair<std::string, std::optional<StoredName>>> failures_;
  std::vector<Writing> ended_;
  uint64_t job_ = 0;
  int owners_ = 0;
  PageWriter writer_{
      /*keeps_pages=*/true,
      clock_,
      jobs_,
      outbox_,
      memory_.index,
      tenants_,
      stored_,
      {.is_awaited = [this](const StoredName& chunk) { return awaited_.contains(chunk); },
       .uses_of =
           [](const NamedPage& page) {
             return std::vector<wire::PageUse>{
                 {page.key.hex(), static_cast<int32_t>(page.position), "alice", "text_a", 0}};
           },
       .written = [this](const Digest& end) { written_.push_back(end); },
       .chains_ended = [this] { ++chains_ended_; },
       .failed = [this](const Error& error,
                        const auto& chunk) { failures_.emplace_back(error.field, chunk); },
       .ended = [this](const Writing& writing) { ended_.push_back(writing); }}};
};

TEST_F(PageWriterTest, writes_what_is_in_memory_and_not_on_disk) {
  const Tokens chain = count_up(0, 150);
  compute(chain, alice_);
  writer_.write_behind(alice_, chain);
  const auto messages = sent();
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].tenant, "alice");
  EXPECT_EQ(messages[0].position, 0);
  ASSERT_EQ(messages[0].pages.size(), 3u);
  EXPECT_EQ(messages[0].pages[2].token_ids, Tokens(chain.begin() + 128, chain.end()));
  EXPECT_EQ(messages[0].uses.size(), 3u);
  EXPECT_TRUE(messages[0].owners.empty());
  answer();
  EXPECT_EQ(stored_.disk().size(), 3u);
  EXPECT_EQ(chains_ended_, 0) << "the next look finds it written";
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(chains_ended_, 1);
  ASSERT_EQ(written_.size(), 1u);
  EXPECT_TRUE(stored_.disk().contains(written_[0]));
  EXPECT_TRUE(writer_.is_idle());
}

TEST_F(PageWriterTest, sends_one_message_at_a_time) {
  const Tokens chain = count_up(0, 17 * 64);
  compute(chain, alice_);
  writer_.write_behind(alice_, chain, chunk_);
  EXPECT_EQ(sent().at(0).pages.size(), 16u);
  EXPECT_TRUE(sent().empty());
  answer();
  const auto rest = sent();
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].position, 1024);
  EXPECT_EQ(rest[0].owners.at(0).chunk_id, "chunk_a");
}

TEST_F(PageWriterTest, a_page_that_goes_on_after_the_chain_is_written_as_far_as_the_chain_goes) {
  const Tokens whole = count_up(0, 100);
  compute(whole, alice_);
  const Tokens chain = first_of(whole, 80);
  const std::vector<NamedPage> pages = writer_.pages_of(alice_, chain);
  ASSERT_EQ(pages.size(), 2u);
  EXPECT_EQ(pages[1].tokens.size(), 16u);
  EXPECT_NE(pages[1].key, key_of(pages[1].node));
  EXPECT_EQ(writer_.pages_of(alice_, count_up(0, 120)).size(), 1u) << "the end is not in memory";
}

TEST_F(PageWriterTest, pages_of_two_owners_are_two_messages) {
  const Tokens chain = count_up(0, 128);
  compute(first_of(chain, 64), kPublic);
  compute(chain, alice_);
  writer_.write_behind(alice_, chain);
  const auto first = sent();
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].tenant, "");
  answer();
  EXPECT_EQ(sent().at(0).tenant, "alice");
}

TEST_F(PageWriterTest, a_chain_is_queued_once_and_first_if_a_client_waits_for_it) {
  compute(count_up(0, 64), alice_);
  compute(count_up(1000, 64), alice_);
  writer_.write_behind(alice_, count_up(0, 64));
  writer_.write_behind(alice_, count_up(1000, 64), chunk_);
  writer_.write_behind(alice_, count_up(0, 64));
  awaited_.insert(chunk_);
  writer_.write_behind(alice_, count_up(1000, 64), chunk_);
  EXPECT_EQ(sent().at(0).pages[0].token_ids[0], 1000);
  answer();
  EXPECT_EQ(sent().at(0).pages[0].token_ids[0], 0);
  answer();
  EXPECT_TRUE(sent().empty());
  EXPECT_TRUE(writer_.is_idle());
  EXPECT_EQ(owners_, 1) << "the store is told whose the chain of the chunk is";
}

TEST_F(PageWriterTest, a_full_queue_takes_only_what_a_client_waits_for) {
  const Tokens most = count_up(0, size_t{4} << 20);
  writer_.write_behind(alice_, most);
  compute(count_up(-100, 64), alice_);
  writer_.write_behind(alice_, count_up(-100, 64), chunk_);
  EXPECT_TRUE(sent().empty()) << "the long chain has no page in memory and leaves the queue";
  EXPECT_TRUE(writer_.is_idle());
  writer_.write_behind(alice_, most);
  awaited_.insert(chunk_);
  writer_.write_behind(alice_, count_up(-100, 64), chunk_);
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(PageWriterTest, waits_until_its_pages_may_be_locked) {
  const Tokens chain = count_up(0, 128);
  compute(chain, alice_);
  writer_.write_behind(alice_, chain);
  EXPECT_TRUE(sent(/*pages_max=*/1).empty());
  EXPECT_FALSE(writer_.is_idle());
  EXPECT_EQ(sent(/*pages_max=*/2).size(), 1u);
  EXPECT_EQ(memory_.index.evictable_count(), 0u);
  answer();
  EXPECT_EQ(memory_.index.evictable_count(), 2u);
}

TEST_F(PageWriterTest, a_failure_of_the_disk_is_told_and_tried_again_after_a_while) {
  compute(count_up(0, 64), alice_);
  writer_.write_behind(alice_, count_up(0, 64), chunk_);
  ASSERT_EQ(sent().size(), 1u);
  answer(failure("disk"));
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_EQ(failures_[0].second, std::nullopt) << "no chunk's pages can be written";
  ASSERT_TRUE(writer_.error().has_value());
  EXPECT_TRUE(sent().empty());
  clock_.advance_us(2'000'000);
  EXPECT_EQ(sent().size(), 1u);
  answer(failure("disk"));
  writer_.retry_now();
  EXPECT_EQ(sent().size(), 1u);
  answer();
  EXPECT_FALSE(writer_.error().has_value());
}

TEST_F(PageWriterTest, a_chain_without_room_on_the_disk_leaves_the_queue) {
  compute(count_up(0, 64), alice_);
  compute(count_up(1000, 64), alice_);
  writer_.write_behind(alice_, count_up(0, 64), chunk_);
  writer_.write_behind(alice_, count_up(1000, 64));
  ASSERT_EQ(sent().size(), 1u);
  answer(failure("max_disk"));
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_EQ(failures_[0].second, chunk_);
  EXPECT_EQ(sent().at(0).pages[0].token_ids[0], 1000) << "for another there may be room";
}

TEST_F(PageWriterTest, names_what_is_to_be_removed_when_it_is_written) {
  const Tokens chain = count_up(0, 192);
  compute(chain, alice_);
  EXPECT_FALSE(writer_.wait_for_writing(chunk_)) << "nothing is being written";
  writer_.end_when_written(alice_, chain, 0, Removal::kDeleted);
  writer_.write_behind(alice_, chain);
  ASSERT_EQ(sent().size(), 1u);
  writer_.end_when_written(tenants_.id("bob"), chain, 0, Removal::kDeleted);
  writer_.end_when_written(alice_, first_of(chain, 64), 64, Removal::kDeleted);
  writer_.end_when_written(alice_, chain, 64, Removal::kExpired);
  writer_.end_when_written(kPublic, chain, 128, Removal::kDead);
  EXPECT_TRUE(writer_.wait_for_writing(chunk_));
  answer();
  ASSERT_EQ(ended_.size(), 1u);
  ASSERT_EQ(ended_[0].ends.size(), 2u) << "the others have nothing in common with it";
  EXPECT_EQ(ended_[0].ends[0].keep, 64);
  EXPECT_EQ(ended_[0].ends[0].why, Removal::kExpired);
  EXPECT_EQ(ended_[0].ends[1].owner, kPublic);
  EXPECT_EQ(ended_[0].ends[1].chain, chain);
  EXPECT_EQ(ended_[0].erased, std::vector{chunk_});
}

TEST_F(PageWriterTest, a_restart_of_the_store_ends_the_writing_and_sends_it_again) {
  compute(count_up(0, 64), alice_);
  writer_.write_behind(alice_, count_up(0, 64));
  ASSERT_EQ(sent().size(), 1u);
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(ended_.size(), 1u);
  EXPECT_FALSE(writer_.is_writing());
  answer();
  EXPECT_EQ(stored_.disk().size(), 0u) << "the answer of an earlier incarnation";
  EXPECT_EQ(sent().size(), 1u);
}

TEST_F(PageWriterTest, drops_chains_from_the_queue) {
  compute(count_up(0, 64), alice_);
  writer_.write_behind(alice_, count_up(0, 64), chunk_);
  writer_.drop_if([](const Writeback& writeback) { return !writeback.chunk; });
  EXPECT_FALSE(writer_.is_idle());
  writer_.drop_if([&](const Writeback& writeback) { return writeback.chunk == chunk_; });
  EXPECT_TRUE(writer_.is_idle());
}

TEST_F(PageWriterTest, a_growing_chain_takes_the_place_of_its_beginning) {
  const Tokens chain = count_up(0, 64 * 40);
  compute(chain, alice_);
  const auto grow = [&](size_t pages) {
    writer_.write_growing(alice_, std::span(chain).first(64 * pages));
  };
  grow(2);
  grow(20);
  grow(20);
  // Sixteen pages a message, and nothing is left of the shorter chain.
  EXPECT_EQ(sent().at(0).pages.size(), 16u);
  grow(40);
  answer();
  EXPECT_EQ(sent().at(0).pages.size(), 16u);
  answer();
  EXPECT_EQ(sent().at(0).pages.size(), 8u);
  answer();
  EXPECT_TRUE(sent().empty());
  EXPECT_EQ(chains_ended_, 1);
  EXPECT_TRUE(writer_.is_idle());
}

}  // namespace
}  // namespace cascade
