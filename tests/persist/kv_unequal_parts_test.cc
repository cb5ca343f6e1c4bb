// Pages whose parts have different sizes: stored, read whole and part by part, moved, and refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "persist/kv_part_files.h"
#include "persist/kv_record.h"
#include "tests/persist/kv_parts_testing.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::expect_parts;
using testing::expect_read;
using testing::has_part;
using testing::kPartsFolder;
using testing::kTwoParts;
using testing::kUnequalPageBytes;
using testing::kUnequalParts;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::part_of;
using testing::PartMemory;
using testing::read_part;
using testing::read_range;
using testing::run_in_parts;
using testing::Sizes;
using testing::test_options;
using testing::TestChain;

TEST(KvUnequalParts, that_are_not_the_page_or_are_too_many_are_refused) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  std::vector<uint8_t> to(chain.page_bytes);
  const PageRead read = {chain.keys[0], chain.token_ids[0], to.data()};
  Sizes too_many(257, 10);
  too_many[0] = testing::kPageBytes - 2560;
  const Sizes wrong[] = {{2500, 2499},
                         {2500, 2501},
                         {testing::kPageBytes + 1},
                         {testing::kPageBytes, 0},
                         {0},
                         // The sum is right in 32 bits.
                         {UINT32_MAX, testing::kPageBytes + 1},
                         {1, 2, 3, 4, 5, 6, 7, testing::kPageBytes - 28},  // different sizes
                         too_many};
  for (const Sizes& parts : wrong) {
    const Error refused[] = {store->kv().append(run_in_parts(chain, parts), 1).error(),
                             store->kv().lease(chain.keys[0], chain.page_bytes, parts).error(),
                             *store->kv().read(chain.page_bytes, {&read, 1}, parts).error};
    for (const Error& error : refused) {
      EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
      EXPECT_EQ(error.field, "parts");
    }
    EXPECT_THAT(refused[0].message, ::testing::HasSubstr("the page's 5000 bytes"));
  }
  EXPECT_EQ(store->kv().lease(chain.keys[0], testing::kPageBytes, kTwoParts).error().code,
            ErrorCode::kNotFound);
}

TEST(KvUnequalParts, as_many_as_fit_a_header_come_back) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Sizes parts;
  for (uint32_t i = 0; i < kKvPartsMax; ++i) parts.push_back(i % kKvPartSizesMax + 1);
  const TestChain chain(1, 3, std::accumulate(parts.begin(), parts.end(), uint64_t{0}));
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, parts), 1)));
  expect_read(store->kv(), chain, parts);
  const auto lease = store->kv().lease(chain.keys[0], chain.page_bytes, parts);
  ASSERT_TRUE(ok(lease));
  KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
  PartMemory memory;
  ASSERT_TRUE(ok(read_part(files, *lease, 255, memory.data())));
  EXPECT_TRUE(has_part(memory, chain, 0, 255, parts));
}

TEST(KvUnequalParts, a_page_that_is_stored_in_other_parts_is_rewritten_when_it_is_leased) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    auto store = open_store(disk, options);
    const TestChain chain(1, 3, kUnequalPageBytes);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, equal_parts(kUnequalPageBytes, 5)), 1)));
    Sizes reversed = kUnequalParts;
    std::ranges::reverse(reversed);
    for (const Sizes& parts : {kUnequalParts, reversed, {}, kUnequalParts}) {
      expect_parts(disk, store->kv(), chain, 1, parts);
      store->kv().leases().release_all();
      ASSERT_TRUE(ok(store->commit()));
    }
    const PagePlace before = (*store->kv().find(chain.keys[1]))->place;
    expect_parts(disk, store->kv(), chain, 1, kUnequalParts);
    EXPECT_EQ((*store->kv().find(chain.keys[1]))->place, before);
  }
}

// They go through compaction, a check, and the loss of all rows.
TEST(KvUnequalParts, outlive_moves_and_lost_rows) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    options.kv.file_bytes_max = 300 << 10;
    auto store = open_store(disk, options);
    std::vector<TestChain> chains;
    for (uint64_t n = 0; n < 6; ++n) {
      chains.emplace_back(n, 3, kUnequalPageBytes);
      ASSERT_TRUE(ok(store->kv().append(run_in_parts(chains.back(), kUnequalParts), 1)));
    }
    ASSERT_TRUE(ok(store->commit()));
    for (const size_t n : {1, 2, 3}) ASSERT_TRUE(ok(store->kv().remove(chains[n].keys)));
    ASSERT_TRUE(ok(store->commit()));
    const PagePlace before = (*store->kv().find(chains[0].keys[0]))->place;
    while (*store->kv().compact(1 << 20)) {
    }
    EXPECT_NE((*store->kv().find(chains[0].keys[0]))->place, before);
    ASSERT_TRUE(ok(store->commit()));
    for (const bool rows_are_lost : {false, true}) {
      store.reset();
      options.rebuild = rows_are_lost;
      store = open_store(disk, options);
      PagePlace after;
      Findings findings;
      while (*store->kv().verify(after, 1 << 20, false, findings)) {
      }
      EXPECT_TRUE(findings.empty());
      for (const size_t n : {0, 4, 5}) {
        expect_read(store->kv(), chains[n], kUnequalParts);
        expect_parts(disk, store->kv(), chains[n], 2, kUnequalParts);
      }
      EXPECT_FALSE((*store->kv().find(chains[1].keys[0])).has_value());
    }
  }
}

TEST(KvUnequalParts, pages_are_removed_when_the_budget_has_no_room_for_unequal_parts) {
  MemoryDisk disk;
  StoreOptions options = test_options();
  options.kv.disk_bytes_max = 4096 + 4 * kv_record_bytes(kUnequalParts);
  auto store = open_store(disk, options);
  const TestChain first(1, 3, kUnequalPageBytes), second(2, 3, kUnequalPageBytes);
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(first, kUnequalParts), 1)));
  EXPECT_EQ(store->kv().append(run_in_parts(second, kUnequalParts), 2).error().field, "max_disk");
  const auto oldest = store->kv().oldest(2 * kv_record_bytes(kUnequalParts), {});
  ASSERT_TRUE(ok(oldest));
  EXPECT_EQ(oldest->size(), 2u);
  ASSERT_TRUE(ok(store->kv().remove(*oldest)));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(second, kUnequalParts), 2)));
  expect_read(store->kv(), second, kUnequalParts);
}

TEST(KvUnequalParts, are_read_in_ranges) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    auto store = open_store(disk, options);
    const TestChain chain(1, 3, kUnequalPageBytes);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kUnequalParts), 1)));
    KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
    const auto lease = store->kv().lease(chain.keys[1], kUnequalPageBytes, kUnequalParts);
    ASSERT_TRUE(ok(lease));
    for (size_t part = 0; part < kUnequalParts.size(); ++part) {
      const auto whole = part_of(chain, kUnequalParts, 1, part);
      for (const size_t begin : {size_t{0}, size_t{999}, whole.size() - 1}) {
        SCOPED_TRACE(std::to_string(part) + " " + std::to_string(begin));
        const auto wanted = whole.subspan(begin);
        PartMemory memory;
        const RangeRead range = {*lease, memory.data(), begin, wanted.size(), kv_checksum(wanted)};
        ASSERT_TRUE(ok(read_range(files, range, part)));
        EXPECT_TRUE(
            std::ranges::equal(wanted, std::span(memory.data() + begin % 4096, wanted.size())));
      }
    }
  }
}

}  // namespace
}  // namespace cascade
