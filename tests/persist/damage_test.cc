// Bits that flip, blocks that read as zeros, files that are cut off, missing or old: the store
// opens, says what is wrong, and gives back nothing that was not written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "persist/check.h"
#include "tests/failing_file_calls.h"
#include "tests/long_tests.h"
#include "tests/persist/ledger.h"
#include "tests/persist/memory_disk.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::kDatabase;
using testing::kStateDir;
using testing::Ledger;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::test_options;

const std::string kLog = "/state/metadata.db-wal";
const std::string kKvFolder = "/state/kv/";

// A disk with a store that was closed, or killed with a log of several commits.
struct Image {
  explicit Image(bool killed) {
    auto store = open_store(disk);
    for (uint64_t n = 0; n < Ledger::kChunks; ++n) ledger.put(*store, n);
    for (uint64_t chain = 0; chain < Ledger::kChains; ++chain) ledger.append(*store, chain);
    ledger.put_session(*store, 3);
    ledger.put_session(*store, 2);
    ledger.commit(*store);
    if (killed) {
      store.reset();
      store = open_store(disk);
    }
    ledger.remove(*store, 4);
    ledger.drop(*store, 5);
    ledger.touch(*store, 1, 30);
    ledger.commit(*store);
    ledger.put(*store, 7, 40);
    ledger.append(*store, 5);
    ledger.commit(*store);
    if (killed) {
      MemoryDisk copy = disk.copy();  // the disk when the process was killed
      store.reset();
      disk = std::move(copy);
    }
  }

  MemoryDisk disk;
  Ledger ledger;
};

void flip_bit(std::vector<uint8_t>& bytes, Random& random) {
  bytes[random.below(bytes.size())] ^= static_cast<uint8_t>(1 << random.below(8));
}

void zero_block(std::vector<uint8_t>& bytes, Random& random) {
  const size_t size = size_t{512} << random.below(4);
  const size_t begin = random.below(bytes.size()) / size * size;
  const size_t end = std::min(begin + size, bytes.size());
  std::fill(bytes.begin() + static_cast<ptrdiff_t>(begin),
            bytes.begin() + static_cast<ptrdiff_t>(end), uint8_t{0});
}

void cut_off(std::vector<uint8_t>& bytes, Random& random) {
  bytes.resize(random.below(bytes.size()));
}

// Opens the damaged store. Returns whether everything is there. If not, the store must have
// reported something.
bool survives(MemoryDisk& disk, const Ledger& ledger) {
  auto opened = Store::open(disk, kStateDir, test_options());
  EXPECT_TRUE(ok(opened));
  if (!opened.ok()) return false;
  Store& store = **opened;
  const bool all = ledger.has_all(store);
  const KvCounters& counters = store.kv().counters();
  EXPECT_TRUE(all || !store.findings().empty() || counters.pages_bad > 0) << "not detected";
  return all;
}

void damage_many(int rounds, const std::function<bool(const std::string&)>& wanted, bool killed) {
  Random random(testing::test_seed());
  Image image(killed);
  std::vector<std::string> paths;
  for (const std::string& path : image.disk.paths()) {
    if (wanted(path) && !image.disk.bytes(path).empty()) paths.push_back(path);
  }
  ASSERT_FALSE(paths.empty());
  int harmless = 0;
  for (int round = 0; round < rounds; ++round) {
    MemoryDisk disk = image.disk.copy();
    std::vector<uint8_t>& bytes = disk.bytes(paths[random.below(paths.size())]);
    const uint64_t kind = random.below(10);
    if (kind < 7) flip_bit(bytes, random);
    if (kind == 7 || kind == 8) zero_block(bytes, random);
    if (kind == 9) cut_off(bytes, random);
    harmless += survives(disk, image.ledger);
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
  std::cout << rounds << " damages, " << harmless << " harmless, the others detected\n";
}

TEST(Damage, of_kv_files) {
  damage_many(
      testing::long_or(5000, 800),
      [](const std::string& path) { return path.starts_with(kKvFolder); }, false);
}

TEST(Damage, of_the_database) {
  damage_many(
      testing::long_or(2500, 350), [](const std::string& path) { return path == kDatabase; },
      false);
}

TEST(Damage, of_the_log_of_a_killed_process) {
  damage_many(
      testing::long_or(1500, 250), [](const std::string& path) { return path == kLog; }, true);
}

TEST(Damage, of_any_file_of_a_killed_process) {
  damage_many(
      testing::long_or(1500, 250), [](const std::string&) { return true; }, true);
}

TEST(Damage, a_page_of_the_database_rarely_costs_more_than_its_rows) {
  MemoryDisk disk;
  auto store = open_store(disk);
  constexpr size_t kChunks = 300;
  for (uint64_t n = 0; n < kChunks; ++n) ASSERT_TRUE(ok(store->put(testing::make_chunk(n))));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  const size_t pages = disk.bytes(kDatabase).size() / kDatabasePageBytes;
  std::vector<size_t> kept;
  for (size_t page = 0; page < pages; ++page) {
    MemoryDisk damaged = disk.copy();
    std::fill_n(
        damaged.bytes(kDatabase).begin() + static_cast<ptrdiff_t>(page * kDatabasePageBytes),
        kDatabasePageBytes, uint8_t{0});
    store = open_store(damaged);
    kept.push_back(store->load()->size());
    EXPECT_FALSE(store->findings().empty());
    EXPECT_TRUE(damaged.has("/state/metadata.salvaged.db"));
    store.reset();
  }
  // A lost page costs few chunks, except the few pages that lead to all others.
  const auto nearly_all = static_cast<size_t>(
      std::ranges::count_if(kept, [&](size_t chunks) { return chunks > kChunks * 9 / 10; }));
  EXPECT_GT(nearly_all, pages * 8 / 10);
  std::cout << nearly_all << " of " << pages << " pages cost less than a tenth of the chunks\n";
}

TEST(Damage, a_missing_database_is_made_anew_from_the_kv_files) {
  Image image(false);
  image.disk.remove(kDatabase);
  auto store = open_store(image.disk);
  EXPECT_TRUE(store->load()->empty());
  for (const auto& chain : image.ledger.chains()) EXPECT_EQ(count_pages(store->kv(), chain), 3u);
  EXPECT_FALSE(store->findings().empty());
  // Removed pages do not come back.
  ASSERT_TRUE(ok(store->kv().remove(image.ledger.chains()[0].keys)));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  image.disk.remove(kDatabase);
  store = open_store(image.disk);
  EXPECT_EQ(count_pages(store->kv(), image.ledger.chains()[0]), 0u);
  EXPECT_EQ(count_pages(store->kv(), image.ledger.chains()[1]), 3u);
}

TEST(Damage, an_operator_can_have_the_database_made_anew) {
  Image image(false);
  StoreOptions options = test_options();
  options.rebuild = true;
  auto store = open_store(image.disk, options);
  EXPECT_TRUE(image.ledger.has_all(*store));
  EXPECT_FALSE(store->findings().empty());
  store.reset();
  store = open_store(image.disk);
  EXPECT_TRUE(store->findings().empty());
  EXPECT_TRUE(image.ledger.has_all(*store));
}

TEST(Damage, an_older_copy_of_the_database_is_noticed) {
  MemoryDisk disk;
  Ledger ledger;
  auto store = open_store(disk);
  ledger.put(*store, 1);
  ledger.append(*store, 1);
  ledger.commit(*store);
  store.reset();
  const std::vector<uint8_t> old = disk.bytes(kDatabase);
  store = open_store(disk);
  ledger.put(*store, 2);
  ledger.append(*store, 2);
  ledger.commit(*store);
  store.reset();
  disk.bytes(kDatabase) = old;
  store = open_store(disk);
  EXPECT_THAT(store->findings().at(store->findings().size() - 1).what,
              ::testing::HasSubstr("commits are missing"));
  EXPECT_FALSE(ledger.has_all(*store));
  // The pages without rows were found nevertheless.
  EXPECT_EQ(count_pages(store->kv(), ledger.chains()[2]), 3u);
  ASSERT_TRUE(ok(store->put(testing::make_chunk(3))));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  EXPECT_TRUE(open_store(disk)->findings().empty());
}

// Files that somebody else left beside the KV files do not prevent a start, and are reported.
TEST(Damage, files_that_are_none_of_ours_are_named) {
  const testing::TemporaryFolder folder;
  const std::filesystem::path kv = folder.path() / "state" / "kv";
  const auto open = [&] {
    return Store::open(system_file_calls(), folder.path() / "state", testing::test_options());
  };
  ASSERT_TRUE(open().ok());
  std::filesystem::create_directory(kv / "00000007.kv");
  std::filesystem::create_symlink("nowhere", kv / "00000008.kv");
  std::ofstream(kv / "00000009.kv") << std::string(20'000, 'x');
  std::ofstream(kv / "notes.txt") << "not ours";
  auto store = open();
  ASSERT_TRUE(store.ok()) << store.error().to_string();
  std::string all;
  for (const Finding& finding : (*store)->findings()) all += finding.where + finding.what + "\n";
  EXPECT_THAT(all, ::testing::HasSubstr("00000007.kvis a folder"));
  EXPECT_THAT(all, ::testing::HasSubstr("00000008.kvis a link"));
  EXPECT_THAT(all, ::testing::HasSubstr("kv file 9is not a KV file"));
  ASSERT_TRUE((*store)->put(testing::make_chunk(1)).ok());
  ASSERT_TRUE((*store)->commit().ok());
  EXPECT_TRUE(std::filesystem::is_directory(kv / "00000007.kv.aside"));
}

TEST(Damage, a_kill_while_the_database_is_made_anew_loses_nothing_more) {
  Image image(false);
  image.disk.bytes(kDatabase)[20'000] ^= 1;
  size_t chunks = 0;
  {
    MemoryDisk whole = image.disk.copy();
    chunks = open_store(whole)->load()->size();
    EXPECT_GE(chunks, Ledger::kChunks - 6);
  }
  for (int n = 1;; n += testing::long_or(1, 3)) {
    MemoryDisk disk = image.disk.copy();
    testing::FailingFileCalls calls(n, true, EIO, disk);
    (void)Store::open(calls, kStateDir, test_options()).ok();
    disk.kill();
    auto store = open_store(disk);
    ASSERT_EQ(store->load()->size(), chunks) << "operation " << n;
    for (const auto& chain : image.ledger.chains()) {
      ASSERT_EQ(count_pages(store->kv(), chain), 3u) << "operation " << n;
    }
    if (!calls.failed()) break;
  }
}

}  // namespace
}  // namespace cascade
