// Every file operation fails once, or from some moment on: nothing crashes, nothing acknowledged is
// lost, no wrong byte is read.
#include <gtest/gtest.h>

#include "tests/failing_file_calls.h"
#include "tests/long_tests.h"
#include "tests/persist/ledger.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::FailingFileCalls;
using testing::Fault;
using testing::kStateDir;
using testing::Ledger;
using testing::MemoryDisk;
using testing::ok;
using testing::test_options;

// Works with chunks, pages in several files, removals and compaction, in two runs of a daemon.
void work(FileCalls& calls, Ledger& ledger) {
  for (int run = 0; run < 2; ++run) {
    auto opened = Store::open(calls, kStateDir, test_options());
    if (!opened.ok()) continue;
    Store& store = **opened;
    for (uint64_t n = 0; n < 3; ++n) ledger.put(store, n + 3 * run);
    ledger.put_session(store, 3);
    for (uint64_t chain = 0; chain < 5; ++chain) ledger.append(store, chain);
    ledger.commit(store);
    ledger.touch(store, 1, 50);
    ledger.remove(store, 2);
    for (uint64_t chain = 0; chain < 3; ++chain) ledger.drop(store, chain);
    ledger.commit(store);
    (void)store.kv().compact(1 << 20).ok();
    (void)store.chunks().forget_step().ok();
    ledger.commit(store);
    ledger.put(store, 9);
    ledger.append(store, 6);
    ledger.commit(store);
    ledger.read(store);
  }
}

// Checks the store after the process has ended and everything works again, with or without a loss
// of power.
void expect_kept(const MemoryDisk& disk, const Ledger& ledger, bool cut) {
  MemoryDisk healthy = disk.copy();
  if (cut) healthy.cut_power();
  Ledger expected = ledger;
  auto store = Store::open(healthy, kStateDir, test_options());
  ASSERT_TRUE(ok(store));
  EXPECT_TRUE(expected.verify(**store));
  expected.put(**store, 11);
  expected.append(**store, 7);
  expected.commit(**store);
  EXPECT_GE(expected.acknowledged_pages(), 3u);
  EXPECT_TRUE(expected.verify(**store));
}

// Lets one operation after the other fail, by default every fifth.
void fail_each(Fault fault, int error, bool all_later) {
  const int step = testing::long_or(1, 5);
  int n = 1;
  for (bool reached = true; reached; n += step) {
    MemoryDisk disk;
    FailingFileCalls calls(n, all_later, error, disk, fault);
    calls.on_failed_sync([&](int fd) { disk.lose_unsynced(fd); });
    Ledger ledger;
    work(calls, ledger);
    reached = calls.failed();
    EXPECT_EQ(disk.open_files(), 0u);
    for (const bool cut : {false, true}) expect_kept(disk, ledger, cut);
    if (::testing::Test::HasFailure()) {
      FAIL() << "operation " << n << (all_later ? " and all later ones" : "");
    }
  }
  EXPECT_GT(n, 20);
  std::cout << "some " << n << " operations, of which one in " << step << " failed\n";
}

TEST(Faults, no_space_once) {
  fail_each(Fault::kError, ENOSPC, false);
}
TEST(Faults, no_space_from_then_on) {
  fail_each(Fault::kError, ENOSPC, true);
}
TEST(Faults, input_output_error_once) {
  fail_each(Fault::kError, EIO, false);
}
TEST(Faults, input_output_error_from_then_on) {
  fail_each(Fault::kError, EIO, true);
}
TEST(Faults, short_write_once) {
  fail_each(Fault::kShortWrite, 0, false);
}
TEST(Faults, short_write_from_then_on) {
  fail_each(Fault::kShortWrite, 0, true);
}
TEST(Faults, torn_write_once) {
  fail_each(Fault::kTornWrite, ENOSPC, false);
}
TEST(Faults, torn_write_from_then_on) {
  fail_each(Fault::kTornWrite, ENOSPC, true);
}
TEST(Faults, failing_fsync_once) {
  fail_each(Fault::kSync, EIO, false);
}
TEST(Faults, failing_fsync_from_then_on) {
  fail_each(Fault::kSync, EIO, true);
}

TEST(Faults, a_disk_that_is_full_takes_writes_again_when_there_is_space) {
  MemoryDisk disk;
  auto store = testing::open_store(disk);
  Ledger ledger;
  ledger.put(*store, 1);
  ledger.append(*store, 0);
  ledger.commit(*store);
  uint64_t free = 0;
  disk.free_bytes("/", free);
  const uint64_t used = (uint64_t{1} << 40) - free;
  // Chunks need little space, pages need much.
  for (const uint64_t room : {uint64_t{0}, uint64_t{100}, uint64_t{5000}, uint64_t{40'000}}) {
    disk.set_capacity(used + room);
    ledger.put(*store, 2);
    ledger.append(*store, 1);
    ledger.append(*store, 2);
    ledger.commit(*store);
  }
  disk.set_capacity(uint64_t{1} << 40);
  ledger.put(*store, 3);
  for (uint64_t chain = 0; chain < Ledger::kChains; ++chain) ledger.append(*store, chain);
  ledger.commit(*store);
  EXPECT_EQ(ledger.acknowledged_pages(), 3 * Ledger::kChains);
  store.reset();
  disk.cut_power();
  store = testing::open_store(disk);
  EXPECT_TRUE(ledger.verify(*store));
}

TEST(Faults, a_killed_store_is_opened_on_a_full_disk) {
  MemoryDisk disk;
  auto store = testing::open_store(disk);
  Ledger ledger;
  for (uint64_t n = 0; n < Ledger::kChunks; ++n) ledger.put(*store, n);
  ledger.append(*store, 0);
  ledger.commit(*store);
  MemoryDisk killed = disk.copy();
  store.reset();
  uint64_t free = 0;
  killed.free_bytes("/", free);
  killed.set_capacity((uint64_t{1} << 40) - free);
  store = testing::open_store(killed);
  ASSERT_TRUE(ledger.verify(*store));
  ledger.put(*store, 50);
  ledger.append(*store, 1);
  ledger.commit(*store);
  killed.set_capacity(uint64_t{1} << 40);
  ledger.put(*store, 51);
  ledger.append(*store, 2);
  ledger.commit(*store);
  EXPECT_EQ(ledger.acknowledged_pages(), 6u);
  store.reset();
  killed.cut_power();
  store = testing::open_store(killed);
  EXPECT_TRUE(ledger.verify(*store));
  store.reset();
}

// The power fails at any file operation of random work. What was not synchronised survives in part.
TEST(Faults, power_cuts_lose_nothing_acknowledged) {
  Random random(testing::test_seed());
  const int cuts = testing::long_or(1500, 300);
  size_t acknowledged = 0;
  for (int cut = 0; cut < cuts;) {
    MemoryDisk disk;
    Ledger ledger;
    const int cuts_of_disk = 15;
    for (int i = 0; i < cuts_of_disk; ++i, ++cut) {
      FailingFileCalls calls(static_cast<int>(1 + random.below(400)), true, EIO, disk);
      if (auto store = Store::open(calls, kStateDir, test_options()); store.ok()) {
        while (!calls.failed()) ledger.random(**store, random);
      }
      if (random.below(4) == 0) {
        disk.cut_power();
      } else {
        disk.cut_power(random);
      }
      auto store = Store::open(disk, kStateDir, test_options());
      ASSERT_TRUE(ok(store)) << "cut " << cut;
      ASSERT_TRUE(ledger.verify(**store)) << "cut " << cut;
      for (const Finding& finding : (*store)->findings()) {
        EXPECT_EQ(finding.what.find("anew"), std::string::npos) << finding.what;
        EXPECT_EQ(finding.what.find("commits are missing"), std::string::npos) << finding.what;
      }
      acknowledged += ledger.acknowledged_chunks() + ledger.acknowledged_pages();
      store->reset();
    }
  }
  EXPECT_GT(acknowledged, static_cast<size_t>(cuts));
  std::cout << cuts << " cuts, " << acknowledged << " acknowledged chunks and pages verified\n";
}

}  // namespace
}  // namespace cascade
