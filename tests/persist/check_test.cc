// Checks and backups of a store that is in use.
#include "persist/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "persist/backup.h"
#include "tests/long_tests.h"
#include "tests/persist/ledger.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::Ledger;
using testing::make_chunk;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::TestChain;

Findings check(Store& store, Check::Mode mode = Check::Mode::kReport) {
  Check check(store, mode, /*owners=*/true);
  while (true) {
    const auto more = check.step(20'000);
    EXPECT_TRUE(ok(more));
    if (!more.ok() || !*more) return check.findings();
  }
}

void fill(Store& store, Ledger& ledger) {
  for (uint64_t n = 0; n < Ledger::kChunks; ++n) ledger.put(store, n);
  for (uint64_t chain = 0; chain < Ledger::kChains; ++chain) ledger.append(store, chain);
  ledger.put_session(store, 3);
  ledger.commit(store);
}

TEST(Check, a_healthy_store_has_no_findings) {
  MemoryDisk disk;
  auto store = open_store(disk);
  EXPECT_TRUE(check(*store).empty());
  Ledger ledger;
  fill(*store, ledger);
  EXPECT_TRUE(check(*store).empty());
  EXPECT_TRUE(check(*store, Check::Mode::kRepair).empty());
  EXPECT_TRUE(ledger.verify(*store));
}

TEST(Check, finds_bad_pages_and_repairs_by_forgetting_them) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Ledger ledger;
  fill(*store, ledger);
  disk.bytes("/state/kv/00000001.kv")[10'000] ^= 1;
  disk.bytes("/state/kv/00000002.kv").resize(20'000);
  const Findings found = check(*store);
  EXPECT_GE(found.size(), 3u);
  EXPECT_EQ(check(*store), found);  // reporting changes nothing
  EXPECT_EQ(check(*store, Check::Mode::kRepair), found);
  EXPECT_TRUE(check(*store).empty());
  for (const TestChain& chain : ledger.chains())
    ASSERT_TRUE(ok(store->kv().append(chain.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_TRUE(ledger.verify(*store));
}

TEST(Check, finds_rows_that_somebody_changed) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Ledger ledger;
  fill(*store, ledger);
  ASSERT_TRUE(ok(store->database().change([&] {
    return store->database().execute(
        "UPDATE chunks SET text='forged' WHERE id='output_3';"
        "UPDATE chunks SET hits=99 WHERE id='output_4';"
        "UPDATE turns SET output_id='forged' WHERE turn=1;");
  })));
  EXPECT_EQ(check(*store).size(), 3u);
  EXPECT_EQ(store->load()->size(), Ledger::kChunks - 1);
  EXPECT_EQ(check(*store, Check::Mode::kRepair).size(), 3u);
  EXPECT_TRUE(check(*store).empty());
  const auto chunks = store->load();
  EXPECT_EQ(chunks->size(), Ledger::kChunks - 1);
  EXPECT_EQ(chunks->at(3).id, "output_4");
  EXPECT_EQ(chunks->at(3).hits, 0);
  Findings findings;
  EXPECT_EQ(store->sessions().load(findings)->at(0).turns.size(), 2u);
}

TEST(Backup, has_everything_although_the_store_changes_meanwhile) {
  Random random(testing::test_seed());
  for (int rounds = testing::long_or(20, 6); rounds > 0; --rounds) {
    MemoryDisk disk;
    auto store = open_store(disk);
    Ledger ledger;
    fill(*store, ledger);
    for (int i = 0; i < 30; ++i) ledger.random(*store, random);
    ledger.commit(*store);
    auto backup = Backup::begin(*store, "/backup");
    ASSERT_TRUE(ok(backup));
    while (true) {
      const auto more = (*backup)->step(random.below(100'000));
      ASSERT_TRUE(ok(more));
      if (!*more) break;
      for (int i = 0; i < 3; ++i) ledger.random(*store, random);
      ledger.commit(*store);
    }
    // The backup is also whole after a power cut.
    for (int i = 0; i < 10; ++i) Ledger(ledger).random(*store, random);
    disk.cut_power();
    auto copy = Store::open(disk, "/backup", testing::test_options());
    ASSERT_TRUE(ok(copy));
    for (const Finding& finding : (*copy)->findings()) ADD_FAILURE() << finding.what;
    EXPECT_TRUE(check(**copy).empty());
    ASSERT_TRUE(ledger.verify(**copy));
    ledger.put(**copy, 1);
    ledger.append(**copy, 1);
    ledger.commit(**copy);
    EXPECT_TRUE(ledger.verify(**copy));
  }
}

TEST(Backup, that_did_not_come_to_its_end_is_no_state_directory) {
  Random random(testing::test_seed());
  MemoryDisk disk;
  auto store = open_store(disk);
  Ledger ledger;
  fill(*store, ledger);
  ledger.commit(*store);
  auto backup = Backup::begin(*store, "/backup");
  ASSERT_TRUE(ok(backup));
  while (true) {
    const auto early = Store::open(disk, "/backup", testing::test_options());
    ASSERT_FALSE(early.ok());
    EXPECT_EQ(early.error().code, ErrorCode::kDataCorrupt);
    EXPECT_THAT(early.error().message, ::testing::HasSubstr("is an incomplete backup"));
    const auto more = (*backup)->step(1 + random.below(20'000));
    ASSERT_TRUE(ok(more));
    if (!*more) break;
  }
  EXPECT_TRUE(ok(Store::open(disk, "/backup", testing::test_options())));
}

TEST(Backup, goes_to_an_empty_folder_only) {
  MemoryDisk disk;
  auto store = open_store(disk);
  ASSERT_TRUE(ok(Backup::begin(*store, "/backup")));
  EXPECT_EQ(Backup::begin(*store, "/backup").error().code, ErrorCode::kConflict);
  disk.set_read_only(true);
  EXPECT_EQ(Backup::begin(*store, "/other/backup").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace cascade
