// Pages in files that no database row names. Pages whose commit did not complete are removed at the
// next start. Pages whose rows were lost are found again; if nobody knows whose text they have,
// they are removed with the first chunk that is deleted.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/failing_file_calls.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade::testing {
namespace {

// The ids of the chain's page as they are in a file.
std::string ids_of(const TestChain& chain, size_t page) {
  const std::vector<int32_t>& ids = chain.token_ids[page];
  return {reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t)};
}

void expect_nowhere(const MemoryDisk& disk, const TestChain& chain) {
  for (size_t page = 0; page < chain.keys.size(); ++page) {
    EXPECT_FALSE(disk.contains(ids_of(chain, page))) << page;
  }
}

// An output whose chain ends with the last page of `chain`.
Chunk chunk_of(uint64_t n, const TestChain& chain) {
  Chunk chunk = make_chunk(n);
  chunk.type = ChunkType::kOutput;
  chunk.kv_key = chain.keys.back().hex();
  return chunk;
}

// The process ends between writing pages and the commit of their rows.
TEST(UnnamedPages, of_a_commit_that_did_not_come_are_gone_at_the_next_start) {
  const TestChain before(1), lost(2);
  for (const bool has_file : {false, true}) {
    MemoryDisk disk;
    auto store = open_store(disk);
    if (has_file) {
      ASSERT_TRUE(ok(store->kv().append(before.run(), 1)));
    }
    ASSERT_TRUE(ok(store->put(chunk_of(1, lost))));
    ASSERT_TRUE(ok(store->commit()));
    ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
    EXPECT_TRUE(disk.contains(ids_of(lost, 0)));
    store.reset();
    store = open_store(disk);
    EXPECT_EQ(count_pages(store->kv(), lost), 0u);
    expect_nowhere(disk, lost);
    EXPECT_EQ(count_pages(store->kv(), before), has_file ? 3u : 0u);
    // Pages that are written next are not taken for the lost ones.
    ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
    ASSERT_TRUE(ok(store->commit()));
    store.reset();
    store = open_store(disk);
    EXPECT_TRUE(store->findings().empty());
    EXPECT_EQ(count_pages(store->kv(), lost), 3u);
  }
}

TEST(UnnamedPages, that_cannot_be_cut_off_are_overwritten) {
  const TestChain before(1), lost(2), later(3);
  int opened = 0;
  for (int n = 1;; ++n) {
    MemoryDisk disk;
    auto store = open_store(disk);
    ASSERT_TRUE(ok(store->kv().append(before.run(), 1)));
    ASSERT_TRUE(ok(store->commit()));
    ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
    store.reset();
    FailingFileCalls calls(n, false, EIO, disk, Fault::kTruncate);
    auto started = Store::open(calls, kStateDir, test_options());
    const bool failed = calls.failed(), is_open = started.ok();
    if (is_open) {  // otherwise the call was for the database's log
      ++opened;
      store = *std::move(started);
      EXPECT_EQ(count_pages(store->kv(), lost), 0u);
      expect_nowhere(disk, lost);
      ASSERT_TRUE(ok(store->kv().append(later.run(), 1)));
      ASSERT_TRUE(ok(store->commit()));
      store.reset();
    }
    store = open_store(disk);
    EXPECT_EQ(count_pages(store->kv(), before), 3u);
    EXPECT_EQ(count_pages(store->kv(), later), is_open ? 3u : 0u);
    expect_nowhere(disk, lost);
    if (!failed) break;
  }
  EXPECT_GE(opened, 2) << "with a failed call, and without";
}

TEST(UnnamedPages, of_a_file_that_could_not_be_synchronised_are_overwritten) {
  const TestChain kept(1), lost(2);
  MemoryDisk disk;
  auto store = open_store(disk);
  ASSERT_TRUE(ok(store->kv().append(kept.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  FailingFileCalls calls(0, false, EIO, disk, Fault::kSync);
  store = open_store(calls);
  calls.start_over(1);  // the next fsync is that of the KV file
  ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_EQ(store->kv().take_unwritten().size(), 3u);
  expect_nowhere(disk, lost);
  EXPECT_EQ(count_pages(store->kv(), kept), 3u);
}

class FoundPages : public ::testing::Test {
 protected:
  // A store with pages of a chunk, pages with text of a context, and pages that no chunk has.
  void SetUp() override {
    auto store = open_store(disk_);
    for (const TestChain* chain : {&of_output_, &of_context_, &of_nobody_}) {
      ASSERT_TRUE(ok(store->kv().append(chain->run(), 1)));
    }
    ASSERT_TRUE(ok(store->put(chunk_of(1, of_output_))));
    ASSERT_TRUE(ok(store->put(make_chunk(2))));
    ASSERT_TRUE(ok(store->put(make_chunk(3))));
    ASSERT_TRUE(ok(store->chains().put(chain_)));
    ASSERT_TRUE(ok(store->kv().put_use(use_)));
    ASSERT_TRUE(ok(store->commit()));
  }
  // Makes the database anew. With `damaged`, a page of the old one does not match its checksum.
  void make_anew(bool damaged) {
    if (damaged) disk_.bytes("/state/metadata.db").back() ^= 1;
    StoreOptions options = test_options();
    options.rebuild = true;
    store_ = open_store(disk_, options);
    ASSERT_NE(store_, nullptr);
    for (const char* log : {"", "-wal"}) {  // the copy of the rows that is kept for people
      disk_.remove("/state/metadata.salvaged.db" + std::string(log));
    }
  }

  const TestChain of_output_{1}, of_context_{2}, of_nobody_{3};
  const ChunkChain chain_ = {model_digest(), "a", make_chunk(1).id, {1, 2, 3}, 2, false};
  const PageUseRow use_ = {of_context_.keys[1], "a", make_chunk(2).id, true, 64};
  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
};

TEST_F(FoundPages, are_there_when_the_database_is_made_anew) {
  make_anew(/*damaged=*/true);
  EXPECT_EQ(count_pages(store_->kv(), of_output_), 3u);
  EXPECT_EQ(count_pages(store_->kv(), of_context_), 3u);
  EXPECT_EQ(count_pages(store_->kv(), of_nobody_), 3u);
  Findings findings;
  ASSERT_TRUE(ok(store_->kv().verify_owners(/*repair=*/false, findings)));
  EXPECT_TRUE(findings.empty());
  const auto uses = store_->kv().uses(model_digest());
  ASSERT_TRUE(ok(uses));
  ASSERT_EQ(uses->size(), 1u);
  EXPECT_EQ((*uses)[0].chunk_id, use_.chunk_id);
  const auto chain = store_->chains().find(model_digest(), "a", chain_.chunk_id);
  ASSERT_TRUE(ok(chain) && chain->has_value());
  EXPECT_EQ(**chain, chain_);
}

// Nobody knows whose text the found pages have: it may be text of the deleted chunk.
TEST_F(FoundPages, end_with_the_first_chunk_that_is_removed) {
  make_anew(/*damaged=*/true);
  ASSERT_TRUE(ok(store_->remove("a", make_chunk(3).id)));
  ASSERT_TRUE(ok(store_->rollback()));
  EXPECT_TRUE(store_->kv().take_deleted().empty());
  EXPECT_EQ(count_pages(store_->kv(), of_nobody_), 3u);

  ASSERT_TRUE(ok(store_->remove("a", make_chunk(3).id)));
  ASSERT_TRUE(ok(store_->commit()));
  EXPECT_EQ(store_->kv().take_deleted().size(), 6u);
  EXPECT_EQ(count_pages(store_->kv(), of_output_), 3u);
  EXPECT_EQ(count_pages(store_->kv(), of_context_), 0u);
  EXPECT_EQ(count_pages(store_->kv(), of_nobody_), 0u);
  while (*store_->forget_step()) {
  }
  expect_nowhere(disk_, of_nobody_);
}

TEST_F(FoundPages, stay_if_they_are_stored_for_a_chunk_since) {
  make_anew(/*damaged=*/true);
  ASSERT_TRUE(ok(store_->kv().put_owner({of_nobody_.keys[1], "a", make_chunk(2).id})));
  ASSERT_TRUE(ok(store_->commit()));
  ASSERT_TRUE(ok(store_->remove("a", make_chunk(3).id)));
  ASSERT_TRUE(ok(store_->commit()));
  EXPECT_EQ(count_pages(store_->kv(), of_nobody_), 2u);
}

TEST_F(FoundPages, of_a_database_that_lost_nothing_are_whose_they_were) {
  const TestChain of_gone{4};
  auto store = open_store(disk_);
  ASSERT_TRUE(ok(store->kv().append(of_gone.run(), 1)));
  ASSERT_TRUE(ok(store->kv().put_owner({of_gone.keys[2], "a", make_chunk(4).id})));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  make_anew(/*damaged=*/false);
  EXPECT_EQ(count_pages(store_->kv(), of_gone), 3u);
  Findings findings;
  ASSERT_TRUE(ok(store_->kv().verify_owners(/*repair=*/true, findings)));
  EXPECT_EQ(findings.size(), 3u) << "what is only of a chunk that is gone";
  EXPECT_EQ(count_pages(store_->kv(), of_gone), 0u);
  ASSERT_TRUE(ok(store_->remove("a", make_chunk(3).id)));
  ASSERT_TRUE(ok(store_->commit()));
  for (const TestChain* chain : {&of_output_, &of_context_, &of_nobody_}) {
    EXPECT_EQ(count_pages(store_->kv(), *chain), 3u);
  }
}

// The copy lacks the last commit.
TEST_F(FoundPages, of_an_older_copy_of_the_database_are_not) {
  const std::vector<uint8_t> old = disk_.bytes("/state/metadata.db");
  auto store = open_store(disk_);
  ASSERT_TRUE(ok(store->put(make_chunk(4))));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  disk_.bytes("/state/metadata.db") = old;
  make_anew(/*damaged=*/false);
  ASSERT_TRUE(ok(store_->remove("a", make_chunk(3).id)));
  ASSERT_TRUE(ok(store_->commit()));
  EXPECT_EQ(count_pages(store_->kv(), of_context_), 0u);
  EXPECT_EQ(count_pages(store_->kv(), of_nobody_), 0u);
}

}  // namespace
}  // namespace cascade::testing
