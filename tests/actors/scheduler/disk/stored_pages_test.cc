// Pages that the store has, and their removal.
#include "actors/scheduler/disk/stored_pages.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "cache/page_pool.h"

namespace cascade {
namespace {

class StoredPagesTest : public ::testing::Test {
 protected:
  StoredPagesTest() {
    outbox_.connect(Actor::kStore, "");
    // The chain root - 1 - 2 - 3, and page 4 after page 1.
    stored_.add(page(1), page(0), kPageTokens);
    stored_.add(page(2), page(1), kPageTokens);
    stored_.add(page(3), page(2), kPageTokens);
    stored_.add(page(4), page(1), kPageTokens);
  }

  static Digest page(uint64_t n) { return Hasher().field("page", n).finish(); }
  // The numbers of the pages that the store is to remove, in their order. Notes the last job.
  std::vector<uint64_t> removed() {
    std::vector<uint64_t> pages;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* remove = std::get_if<wire::RemovePages>(&outgoing.envelope.message);
      if (remove == nullptr) continue;
      job_ = remove->job;
      for (const std::string& key : remove->keys) {
        for (uint64_t n = 1; n <= 4; ++n) {
          if (page(n).hex() == key) pages.push_back(n);
        }
      }
    }
    return pages;
  }
  using Pages = std::vector<uint64_t>;
  void ack(bool fails = false) {
    wire::StoreAck ack{job_, {}};
    if (fails) ack.error = Error{ErrorCode::kInternal, "", "the disk failed"};
    EXPECT_TRUE(stored_.on(ack));
  }
  int64_t pieces() { return erasures_.find(chunk_)->pieces; }

  const StoredName chunk_ = {"alice", "chunk_a"};
  PagePool pool_{4};
  ChainIndex index_{page(0), pool_, EvictionPolicy::kLru};
  Erasures erasures_;
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  std::set<Digest> kept_;
  std::vector<std::pair<std::optional<StoredName>, bool>> answers_;  // true: the removal failed
  uint64_t job_ = 0;
  StoredPages stored_{
      index_,
      erasures_,
      jobs_,
      outbox_,
      [this](const Digest& page) { return kept_.contains(page); },
      [this](const std::optional<StoredName>& erased, const std::optional<Error>& error) {
        answers_.emplace_back(erased, error.has_value());
      }};
};

TEST_F(StoredPagesTest, removes_a_page_with_what_goes_on_from_it) {
  stored_.remove_from(page(2));
  EXPECT_EQ(removed().size(), 2u);
  EXPECT_FALSE(stored_.disk().contains(page(2))) << "at once";
  EXPECT_FALSE(stored_.disk().contains(page(3)));
  EXPECT_TRUE(stored_.disk().contains(page(4)));
  EXPECT_EQ(stored_.counters().pages_removed, 2);
  EXPECT_TRUE(jobs_.delay_stop());
  ack();
  EXPECT_FALSE(jobs_.delay_stop());
}

TEST_F(StoredPagesTest, keeps_what_chunks_and_pins_end_with) {
  stored_.move_chain_end(std::nullopt, page(3));
  stored_.move_chain_end(std::nullopt, page(3));
  stored_.remove_from(page(2));
  EXPECT_EQ(removed(), Pages());
  stored_.move_chain_end(page(3), page(4));
  stored_.remove_from(page(2));
  EXPECT_EQ(removed(), Pages()) << "another chunk's chain ends there";
  stored_.move_chain_end(page(3), std::nullopt);
  kept_.insert(page(3));
  stored_.remove_from(page(2));
  EXPECT_EQ(removed(), Pages()) << "a pin's";
  kept_.clear();
  stored_.remove_from(page(2));
  EXPECT_EQ(removed().size(), 2u);
}

TEST_F(StoredPagesTest, removes_of_a_path_what_nothing_goes_on_from) {
  stored_.remove_unshared({page(1), page(2), page(3)});
  EXPECT_EQ(removed(), (Pages{3, 2})) << "page 4 goes on from page 1";
}

TEST_F(StoredPagesTest, tells_the_removal_of_a_chunk_when_its_pages_are_gone) {
  erasures_.begin(chunk_, Removal::kDeleted);
  stored_.remove_from(page(4), &chunk_);
  EXPECT_EQ(pieces(), 1);
  EXPECT_EQ(removed(), Pages{4});
  ack();
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_EQ(answers_[0], std::pair(std::optional(chunk_), false));
}

TEST_F(StoredPagesTest, tries_again_what_the_store_could_not_remove) {
  erasures_.begin(chunk_, Removal::kDeleted);
  stored_.remove_from(page(4), &chunk_);
  removed();
  ack(/*fails=*/true);
  stored_.remove_from(page(3));
  removed();
  ack(/*fails=*/true);
  stored_.retry();
  EXPECT_EQ(removed(), Pages{3});
  stored_.retry();
  EXPECT_EQ(removed(), Pages()) << "it is under way";
  stored_.retry(chunk_);
  EXPECT_EQ(removed(), Pages{4});
  EXPECT_EQ(pieces(), 2) << "the caller ends the first";
  stored_.retry(chunk_);
  EXPECT_EQ(removed(), Pages());
}

TEST_F(StoredPagesTest, asks_a_restarted_store_again) {
  erasures_.begin(chunk_, Removal::kDeleted);
  stored_.remove_from(page(4), &chunk_);
  removed();
  const uint64_t lost = job_;
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(removed(), Pages{4});
  EXPECT_EQ(pieces(), 1) << "still one";
  EXPECT_FALSE(stored_.on({lost, {}}));
  ack();
  EXPECT_EQ(answers_.size(), 1u);
}

TEST_F(StoredPagesTest, knows_what_an_earlier_daemon_has_stored) {
  wire::StoredPages earlier;
  earlier.pages.push_back({page(5).hex(), page(4).hex(), 3});
  earlier.other_models.push_back(page(9).hex());
  stored_.load(earlier);
  EXPECT_EQ(stored_.disk().path(page(5)).size(), 3u);
  EXPECT_TRUE(stored_.is_of_other_model(page(9)));
  EXPECT_FALSE(stored_.is_of_other_model(page(8)));
}

}  // namespace
}  // namespace cascade
