// What a check on request reports, and what counts as a state directory.
#include "persist/fsck.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/persist/ledger.h"
#include "tests/persist/memory_disk.h"

namespace cascade {
namespace {

using testing::Ledger;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;

class FsckTest : public ::testing::Test {
 protected:
  void SetUp() override {
    store_ = open_store(disk_);
    for (uint64_t n = 0; n < Ledger::kChunks; ++n) ledger_.put(*store_, n);
    for (uint64_t chain = 0; chain < Ledger::kChains; ++chain) ledger_.append(*store_, chain);
    ledger_.commit(*store_);
  }
  Fsck run(bool repair) {
    Fsck fsck(*store_, repair);
    for (bool more = true; more;) {
      const auto step = fsck.step(20'000);
      EXPECT_TRUE(ok(step));
      more = step.ok() && *step;
    }
    return fsck;
  }

  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  Ledger ledger_;
};

// Makes the chunk an owner of the last page of a chain. Each chain has a number and three pages,
// and shares none of its pages.
void own(Store& store, uint64_t chain, const std::string& chunk_id) {
  ASSERT_TRUE(ok(store.kv().put_owner({testing::TestChain(chain).keys[2], "a", chunk_id})));
}

TEST_F(FsckTest, finds_pages_that_no_chunk_accounts_for) {
  own(*store_, 0, "output_0");     // exists
  own(*store_, 1, "output_gone");  // does not exist: only this says that its pages are kept
  own(*store_, 2, "output_gone");
  own(*store_, 2, "");  // a prefix owns it, too
  ASSERT_TRUE(ok(store_->commit()));
  const auto report = run(false).found();
  ASSERT_EQ(report.size(), 3u);
  for (const Fsck::Found& found : report) {
    EXPECT_THAT(found.finding.what, ::testing::HasSubstr("chunks that do not exist any more"));
    EXPECT_FALSE(found.repaired);
  }
  for (const Fsck::Found& found : run(true).found()) EXPECT_TRUE(found.repaired);
  EXPECT_TRUE(run(false).found().empty());
  EXPECT_EQ(read_chain(store_->kv(), testing::TestChain(0)).good, 3u);
  EXPECT_EQ(read_chain(store_->kv(), testing::TestChain(1)).good, 0u);
  EXPECT_EQ(read_chain(store_->kv(), testing::TestChain(2)).good, 3u);
}

TEST_F(FsckTest, pages_of_which_a_kept_chunk_has_text_are_accounted_for) {
  own(*store_, 1, "output_gone");
  ASSERT_TRUE(ok(store_->kv().put_use({testing::TestChain(1).keys[1], "a", "output_0", false, 0})));
  ASSERT_TRUE(ok(store_->commit()));
  EXPECT_EQ(run(true).found().size(), 1u) << "what is behind the text goes";
  EXPECT_EQ(read_chain(store_->kv(), testing::TestChain(1)).good, 2u);
}

TEST_F(FsckTest, counts_what_it_read) {
  const Fsck fsck = run(false);
  EXPECT_TRUE(fsck.found().empty());
  EXPECT_GT(fsck.pages(), 0u);
  EXPECT_GT(fsck.bytes(), fsck.pages() * testing::kPageBytes);
  EXPECT_EQ(run(false).pages(), fsck.pages());
}

TEST_F(FsckTest, tells_what_is_repaired_from_what_is_left) {
  const uint64_t pages = run(false).pages();
  disk_.bytes("/state/kv/00000001.kv")[10'000] ^= 1;
  ASSERT_TRUE(ok(store_->database().change([&] {
    return store_->database().execute("UPDATE chunks SET text='x' WHERE id='output_3'");
  })));
  ASSERT_TRUE(ok(store_->commit()));
  const auto report = run(false).found();
  ASSERT_GE(report.size(), 2u);
  for (const Fsck::Found& found : report) EXPECT_FALSE(found.repaired) << found.finding.where;
  const Fsck repair = run(true);
  EXPECT_EQ(repair.found().size(), report.size());
  for (const Fsck::Found& found : repair.found())
    EXPECT_TRUE(found.repaired) << found.finding.where;
  EXPECT_EQ(repair.pages(), pages);
  EXPECT_EQ(store_->kv().take_forgotten().size(), 1u);
  EXPECT_TRUE(store_->kv().take_forgotten().empty());
  EXPECT_TRUE(run(false).found().empty());
}

TEST(StateDirectoryCheck, knows_ours_from_others) {
  MemoryDisk disk;
  EXPECT_EQ(check_state_directory(disk, "/state").error().code, ErrorCode::kNotFound);
  ASSERT_EQ(disk.make_folder("/state"), 0);
  const Status empty = check_state_directory(disk, "/state");
  EXPECT_EQ(empty.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(empty.error().message, ::testing::HasSubstr("is not a state directory"));
  open_store(disk).reset();
  EXPECT_TRUE(ok(check_state_directory(disk, "/state")));
  EXPECT_EQ(disk.remove("/state/metadata.db"), 0);
  EXPECT_TRUE(ok(check_state_directory(disk, "/state"))) << "its pages are still there";
  EXPECT_EQ(check_state_directory(disk, "/state/lock").error().message, "is not a folder");
}

}  // namespace
}  // namespace cascade
