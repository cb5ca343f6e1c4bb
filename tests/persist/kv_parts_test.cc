// Pages whose parts are read one by one while other things happen to the files.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#include "base/file.h"
#include "persist/kv_part_files.h"
#include "persist/kv_record.h"
#include "tests/failing_file_calls.h"
#include "tests/long_tests.h"
#include "tests/persist/kv_parts_testing.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"
#include "tests/places.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::expect_parts;
using testing::expect_read;
using testing::FailingFileCalls;
using testing::has_part;
using testing::kPartsFile;
using testing::kPartsFolder;
using testing::kTwoParts;
using testing::kUnequalPageBytes;
using testing::kUnequalParts;
using testing::kWhole;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::PartMemory;
using testing::read_part;
using testing::read_range;
using testing::run_in_parts;
using testing::Sizes;
using testing::test_options;
using testing::TestChain;

TEST(KvParts, whole_pages_come_back_whatever_their_parts) {
  for (const Sizes& parts : {kWhole, kTwoParts, equal_parts(testing::kPageBytes, 5),
                             equal_parts(testing::kPageBytes, 250), kUnequalParts}) {
    for (const bool compress : {false, true}) {
      MemoryDisk disk;
      StoreOptions options = test_options();
      options.kv.compress = compress;
      auto store = open_store(disk, options);
      const TestChain chain(1, 5, std::accumulate(parts.begin(), parts.end(), uint64_t{0}));
      ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, parts), 1)));
      ASSERT_TRUE(ok(store->commit()));
      store.reset();
      disk.cut_power();
      store = open_store(disk, options);
      expect_read(store->kv(), chain, parts);
      if (!compress) {
        EXPECT_EQ(store->kv().bytes_on_disk(), 4096 + 5 * kv_record_bytes(parts));
      }
    }
  }
}

TEST(KvParts, parts_of_leased_pages_are_read_one_by_one) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    auto store = open_store(disk, options);
    const TestChain chain(1), unequal(2, 3, kUnequalPageBytes);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kTwoParts), 1)));
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(unequal, kUnequalParts), 1)));
    for (size_t page = 0; page < 3; ++page) {
      expect_parts(disk, store->kv(), chain, page, kTwoParts);
      expect_parts(disk, store->kv(), unequal, page, kUnequalParts);
    }
    EXPECT_TRUE(store->kv().take_forgotten().empty());
  }
}

TEST(KvParts, ranges_of_parts_are_read_and_verified_alone) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    auto store = open_store(disk, options);
    const TestChain chain(1);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kWhole), 1)));
    KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
    const auto lease = store->kv().lease(chain.keys[1], testing::kPageBytes, kWhole);
    ASSERT_TRUE(ok(lease));
    const std::vector<uint8_t>& page = chain.pages[1];
    ASSERT_GT(page.size(), 4200u);
    for (const auto& [begin, bytes] :
         std::vector<std::pair<size_t, size_t>>{{0, 1},
                                                {0, page.size()},
                                                {100, 4000},
                                                {4000, 200},
                                                {4096, 10},
                                                {page.size() - 1, 1}}) {
      SCOPED_TRACE(std::to_string(begin) + " " + std::to_string(bytes));
      PartMemory memory;
      const auto wanted = std::span(page).subspan(begin, bytes);
      RangeRead range = {*lease, memory.data(), begin, bytes, kv_checksum(wanted)};
      ASSERT_TRUE(ok(read_range(files, range)));
      EXPECT_TRUE(std::ranges::equal(wanted, std::span(memory.data() + begin % 4096, bytes)));
      ++range.checksum;
      const Status wrong = read_range(files, range);
      // A compressed part is verified as a whole.
      EXPECT_EQ(wrong.ok(), store->kv().leases().find(*lease)->parts[0].bytes < page.size());
      if (!wrong.ok()) {
        EXPECT_EQ(wrong.error().code, ErrorCode::kDataCorrupt);
      }
    }
  }
}

TEST(KvParts, a_range_that_is_damaged_or_gone_is_named_and_its_neighbours_are_not) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kWhole), 1)));
  KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
  const auto lease = store->kv().lease(chain.keys[0], testing::kPageBytes, kWhole);
  ASSERT_TRUE(ok(lease));
  disk.bytes(kPartsFile)[store->kv().leases().find(*lease)->offset + 150] ^= 1;
  PartMemory first, second;
  const auto range = [&](PartMemory& memory, size_t begin) {
    const auto wanted = std::span(chain.pages[0]).subspan(begin, 100);
    return RangeRead{*lease, memory.data(), begin, 100, kv_checksum(wanted)};
  };
  EXPECT_TRUE(ok(read_range(files, range(first, 0))));
  EXPECT_TRUE(ok(read_range(files, range(first, 200))));
  const RangeRead both[] = {range(first, 0), range(second, 100)};
  const auto unread = files.read(0, both);
  ASSERT_TRUE(unread.has_value());
  EXPECT_EQ(unread->index, 1u);
  EXPECT_EQ(unread->error.code, ErrorCode::kDataCorrupt);
  const RangeRead none = {*lease + 1, first.data(), 0, 100, 0};
  EXPECT_EQ(read_range(files, none).error().code, ErrorCode::kNotFound);
}

// Files of version 1 have no parts.
TEST(KvParts, a_page_of_an_older_file_is_rewritten_when_it_is_leased) {
  const std::string fixture = (testing::source_dir() / "tests/persist/data/version3").string();
  MemoryDisk disk;
  ASSERT_EQ(disk.make_folder("/state"), 0);
  ASSERT_EQ(disk.make_folder("/state/kv"), 0);
  for (const auto& [path, name] : {std::pair(testing::kDatabase, ".db"), {kPartsFile, ".kv"}}) {
    const auto content = read_file(fixture + name, 1 << 20);
    ASSERT_TRUE(ok(content));
    const int fd = disk.open(path, O_RDWR | O_CREAT, 0600);
    disk.write(fd, content->data(), content->size(), 0);
    disk.sync(fd);
    disk.close(fd);
  }
  auto store = open_store(disk);
  const TestChain chain(0);
  const auto lease = store->kv().lease(chain.keys[1], testing::kPageBytes, kTwoParts);
  ASSERT_TRUE(ok(lease));
  ASSERT_TRUE(ok(store->commit()));
  KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
  PartMemory memory;
  ASSERT_TRUE(ok(read_part(files, *lease, 1, memory.data())));
  EXPECT_TRUE(has_part(memory, chain, 1, 1));
  store.reset();
  disk.kill();
  store = open_store(disk);
  EXPECT_TRUE(store->findings().empty());
  std::vector<uint8_t> to(chain.page_bytes);
  for (size_t i = 0; i < 3; ++i) {  // some in files of either version
    const PageRead read = {chain.keys[i], chain.token_ids[i], to.data()};
    EXPECT_EQ(store->kv().read(chain.page_bytes, {&read, 1}, kTwoParts).good, 1u);
    EXPECT_EQ(to, chain.pages[i]);
  }
  EXPECT_TRUE(disk.has("/state/kv/00000002.kv"));
}

TEST(KvParts, leased_pages_stay_where_they_are) {
  MemoryDisk disk;
  StoreOptions options = test_options();
  options.kv.file_bytes_max = 64 << 10;
  auto store = open_store(disk, options);
  std::vector<TestChain> chains;
  for (uint64_t n = 0; n < 6; ++n) {
    chains.emplace_back(n);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chains.back(), kTwoParts), 1)));
  }
  const auto lease = store->kv().lease(chains[0].keys[1], testing::kPageBytes, kTwoParts);
  ASSERT_TRUE(ok(lease));
  const auto victims = store->oldest_pages(uint64_t{1} << 30, {});
  ASSERT_TRUE(ok(victims));
  EXPECT_THAT(*victims, ::testing::Not(::testing::Contains(chains[0].keys[0])));
  EXPECT_THAT(*victims, ::testing::Not(::testing::Contains(chains[0].keys[1])));
  EXPECT_THAT(*victims, ::testing::Contains(chains[0].keys[2]));
  // The first file is mostly empty, but has a leased page.
  ASSERT_TRUE(ok(store->kv().remove(chains[1].keys)));
  ASSERT_TRUE(ok(store->kv().remove(std::span(chains[0].keys).subspan(2))));
  ASSERT_TRUE(ok(store->commit()));
  const PagePlace before = (*store->kv().find(chains[0].keys[1]))->place;
  while (*store->kv().compact(1 << 20)) {
  }
  EXPECT_EQ((*store->kv().find(chains[0].keys[1]))->place, before);
  store->kv().leases().release(*lease);
  while (*store->kv().compact(1 << 20)) {
  }
  EXPECT_NE((*store->kv().find(chains[0].keys[1]))->place, before);
}

TEST(KvParts, every_flipped_bit_of_a_part_is_found) {
  for (const bool compress : {false, true}) {
    MemoryDisk disk;
    StoreOptions options = test_options();
    options.kv.compress = compress;
    auto store = open_store(disk, options);
    const TestChain chain(1);
    ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kTwoParts), 1)));
    const uint32_t lease = *store->kv().lease(chain.keys[1], testing::kPageBytes, kTwoParts);
    const auto page = store->kv().leases().find(lease);
    KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
    PartMemory memory;
    Random random(testing::test_seed());
    for (int i = 0; i < testing::long_or(1000, 200); ++i) {
      const size_t part = random.below(2);
      const uint64_t begin = page->offset + (part == 0 ? 0 : 4096);
      uint8_t& byte = disk.bytes(kPartsFile)[begin + random.below(page->parts[part].bytes)];
      const auto bit = static_cast<uint8_t>(1 << random.below(8));
      byte ^= bit;
      const Status bad = read_part(files, lease, part, memory.data());
      ASSERT_FALSE(bad.ok());
      EXPECT_EQ(bad.error().code, ErrorCode::kDataCorrupt);
      EXPECT_TRUE(ok(read_part(files, lease, 1 - part, memory.data())));
      byte ^= bit;
    }
  }
}

TEST(KvParts, a_page_that_is_gone_and_a_disk_that_fails_are_told_apart) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kTwoParts), 1)));
  const uint32_t lease = *store->kv().lease(chain.keys[2], testing::kPageBytes, kTwoParts);
  PartMemory memory;
  FailingFileCalls failing(0, false, EIO, disk);
  constexpr int kCalls = 2;  // open, read
  for (int n = 1; n <= kCalls; ++n) {
    failing.start_over(n);
    KvPartFiles files(failing, kPartsFolder, store->kv().leases(), 1);
    const Status failed = read_part(files, lease, 0, memory.data());
    ASSERT_FALSE(failed.ok()) << n;
    EXPECT_EQ(failed.error().code, ErrorCode::kIo) << n;
    ASSERT_TRUE(ok(read_part(files, lease, 0, memory.data()))) << n;
    EXPECT_TRUE(has_part(memory, chain, 2, 0));
  }
  KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
  disk.bytes(kPartsFile).resize(disk.bytes(kPartsFile).size() - 4096);
  EXPECT_TRUE(ok(read_part(files, lease, 0, memory.data())));
  EXPECT_EQ(read_part(files, lease, 1, memory.data()).error().code, ErrorCode::kDataCorrupt);
  store->kv().leases().release(lease);
  EXPECT_EQ(read_part(files, lease, 0, memory.data()).error().code, ErrorCode::kNotFound);
}

TEST(KvParts, are_read_by_several_threads_at_once) {
  testing::TemporaryFolder folder;
  auto store = Store::open(system_file_calls(), (folder.path() / "state").string(), test_options());
  ASSERT_TRUE(ok(store));
  const TestChain chain(1, 40);
  ASSERT_TRUE(ok((*store)->kv().append(run_in_parts(chain, kTwoParts), 1)));
  KvPartFiles files(system_file_calls(), (*store)->directory().kv_folder(),
                    (*store)->kv().leases());
  std::vector<PartMemory> memory(40);
  std::vector<PartRead> reads;
  for (size_t page = 0; page < 40; ++page) {
    reads.push_back({*(*store)->kv().lease(chain.keys[page], testing::kPageBytes, kTwoParts),
                     memory[page].data()});
  }
  ASSERT_FALSE(files.read(1, reads).has_value());
  for (size_t page = 0; page < 40; ++page) EXPECT_TRUE(has_part(memory[page], chain, page, 1));
  // The first bad one is named, whichever is found first.
  (*store)->kv().leases().release(reads[7].lease);
  (*store)->kv().leases().release(reads[20].lease);
  const auto unread = files.read(0, reads);
  ASSERT_TRUE(unread.has_value());
  EXPECT_EQ(unread->index, 7u);
}

// What Linux says where files cannot be read without the system's cache.
class CachedOnly : public MemoryDisk {
 public:
  int open(const std::string& path, int flags, mode_t mode) override {
    if ((flags & O_DIRECT) == 0) return MemoryDisk::open(path, flags, mode);
    errno = EINVAL;
    return -1;
  }
};

TEST(KvParts, are_read_through_the_cache_where_the_file_system_wants_that) {
  CachedOnly disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  ASSERT_TRUE(ok(store->kv().append(run_in_parts(chain, kTwoParts), 1)));
  const uint32_t lease = *store->kv().lease(chain.keys[0], testing::kPageBytes, kTwoParts);
  KvPartFiles files(disk, kPartsFolder, store->kv().leases(), 1);
  PartMemory memory;
  for (size_t part = 0; part < 2; ++part) {
    ASSERT_TRUE(ok(read_part(files, lease, part, memory.data())));
    EXPECT_TRUE(has_part(memory, chain, 0, part));
  }
}

}  // namespace
}  // namespace cascade
