// The store on a real file system: what only the operating system can show, and how long it takes.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "persist/backup.h"
#include "persist/check.h"
#include "tests/long_tests.h"
#include "tests/persist/store_testing.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

namespace fs = std::filesystem;
using testing::make_chunk;
using testing::ok;
using testing::TemporaryFolder;
using testing::TestChain;

class Watch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

uint64_t number_from(const char* variable, uint64_t otherwise) {
  const char* given = std::getenv(variable);
  return given != nullptr ? std::strtoull(given, nullptr, 10) : otherwise;
}

TEST(RealDisk, keeps_chunks_and_pages_and_makes_private_files) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "deep" / "state";
  FileCalls& calls = system_file_calls();
  const TestChain chain(1, 700, 10'000), removed(2, 5);
  {
    auto store = Store::open(calls, path);
    ASSERT_TRUE(ok(store));
    ASSERT_TRUE(ok((*store)->put(make_chunk(1))));
    ASSERT_TRUE(ok((*store)->kv().append(chain.run(), 1)));
    ASSERT_TRUE(ok((*store)->kv().append(removed.run(), 1)));
    ASSERT_TRUE(ok((*store)->commit()));
    ASSERT_TRUE(ok((*store)->kv().remove(removed.keys)));
    ASSERT_TRUE(ok((*store)->commit()));
    EXPECT_EQ(Store::open(calls, path).error().code, ErrorCode::kConflict);
    // Other programs that use SQLite stay away, too.
    sqlite3* other = nullptr;
    ASSERT_EQ(sqlite3_open((path + "/metadata.db").c_str(), &other), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(other, "SELECT count(*) FROM chunks", nullptr, nullptr, nullptr),
              SQLITE_BUSY);
    sqlite3_close(other);
  }
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path)) {
    struct stat info = {};
    ASSERT_EQ(::stat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, entry.is_directory() ? 0700u : 0600u) << entry.path();
  }
  struct stat info = {};
  ASSERT_EQ(::stat((path + "/kv/00000001.kv").c_str(), &info), 0);
  EXPECT_LE(info.st_blocks * 512, info.st_size - 5 * 8192);  // holes in the place of removed pages
  auto store = Store::open(calls, path);
  ASSERT_TRUE(ok(store));
  EXPECT_TRUE((*store)->findings().empty());
  EXPECT_EQ((*store)->load()->at(0), make_chunk(1));
  (*store)->kv().prefetch(chain.keys);
  EXPECT_EQ(read_chain((*store)->kv(), chain).good, 700u);
  auto backup = Backup::begin(**store, folder.path() / "backup");
  ASSERT_TRUE(ok(backup));
  while (*(*backup)->step(1 << 20)) {
  }
  auto copy = Store::open(calls, folder.path() / "backup");
  ASSERT_TRUE(ok(copy));
  EXPECT_TRUE((*copy)->findings().empty());
  EXPECT_EQ(read_chain((*copy)->kv(), chain).good, 700u);
}

TEST(RealDisk, a_backup_is_read_by_other_programs_that_use_sqlite) {
  const TemporaryFolder folder;
  auto store = Store::open(system_file_calls(), folder.path() / "state");
  ASSERT_TRUE(ok(store));
  for (uint64_t n = 0; n < 10; ++n) ASSERT_TRUE(ok((*store)->put(make_chunk(n))));
  auto backup = Backup::begin(**store, folder.path() / "backup");
  ASSERT_TRUE(ok(backup));
  while (*(*backup)->step(1 << 20)) {
  }
  sqlite3* other = nullptr;
  const std::string path = folder.path() / "backup" / "metadata.db";
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  int rows = 0;
  const auto count = [](void* rows_counted, int, char**, char**) {
    return ++*static_cast<int*>(rows_counted), 0;
  };
  EXPECT_EQ(sqlite3_exec(other, "SELECT id FROM chunks WHERE hits >= 3", count, &rows, nullptr),
            SQLITE_OK);
  EXPECT_EQ(rows, 7);
  sqlite3_close(other);
}

// Chunks like those of a service. CASCADE_TEST_CHUNKS sets how many.
TEST(RealDisk, many_chunks_are_opened_loaded_and_searched) {
  const uint64_t chunks = number_from("CASCADE_TEST_CHUNKS", testing::long_or(3000, 1000));
  const TemporaryFolder folder;
  const std::string path = folder.path() / "state";
  std::cout << chunks << " chunks\n";
  {
    auto store = Store::open(system_file_calls(), path);
    ASSERT_TRUE(ok(store));
    const Watch watch;
    for (uint64_t n = 0; n < chunks; ++n) {
      Chunk chunk = make_chunk(n);
      chunk.published = false;
      Random random(n);
      for (int word = 0; word < 60; ++word) {
        // A few words are in most texts; most words are in few.
        const double share = random.unit();
        chunk.text += " w" + std::to_string(static_cast<int>(20'000 * share * share * share));
      }
      chunk.token_ids.assign(120, static_cast<int32_t>(n));
      ASSERT_TRUE(ok((*store)->put(chunk)));
      if (n % 1000 == 999) {
        ASSERT_TRUE(ok((*store)->commit()));
      }
    }
    ASSERT_TRUE(ok((*store)->commit()));
    std::cout << "put: " << watch.seconds() * 1e6 / static_cast<double>(chunks) << " us each\n";
    const Watch single;
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(ok((*store)->touch("a", make_chunk(1).id, i, 1, i)));
      ASSERT_TRUE(ok((*store)->commit()));
    }
    std::cout << "touch and commit: " << single.seconds() * 1e4 << " us each\n";
  }
  const Watch open;
  auto store = Store::open(system_file_calls(), path);
  ASSERT_TRUE(ok(store));
  const double open_s = open.seconds();
  const auto loaded = (*store)->load();
  ASSERT_TRUE(ok(loaded));
  EXPECT_EQ(loaded->size(), chunks);
  EXPECT_TRUE((*store)->findings().empty());
  std::cout << "database: " << fs::file_size(path + "/metadata.db") / 1000 << " kB\n"
            << "open: " << open_s << " s, with load: " << open.seconds() << " s\n";
  for (const char* query : {"w17", "w0", "text", "w3 w5", "word7 name"}) {
    const Watch search;
    const auto hits = (*store)->chunks().search("a", query, 50);
    ASSERT_TRUE(ok(hits));
    std::cout << "search " << query << ": " << hits->size() << " hits, " << search.seconds() * 1e3
              << " ms\n";
  }
  const Watch foreign;
  EXPECT_TRUE((*store)->chunks().search("b", "text", 50)->empty());  // looks at all chunks
  std::cout << "search by another tenant: " << foreign.seconds() * 1e3 << " ms\n";
}

// Writes CASCADE_TEST_PAGES pages of CASCADE_TEST_PAGE_BYTES each.
TEST(RealDisk, many_pages_are_written_and_read) {
  const uint64_t pages = number_from("CASCADE_TEST_PAGES", 64);
  const uint64_t page_bytes = number_from("CASCADE_TEST_PAGE_BYTES", 135'168);
  const TemporaryFolder folder;
  const TestChain chain(1, pages, page_bytes);
  const double bytes = static_cast<double>(pages * page_bytes);
  for (const bool compress : {false, true}) {
    StoreOptions options;
    options.kv.compress = compress;
    const std::string path = folder.path() / (compress ? "zstd" : "plain");
    std::vector<uint8_t> to(pages * page_bytes, 1);
    std::vector<PageRead> reads;
    for (size_t i = 0; i < pages; ++i) {
      reads.push_back({chain.keys[i], chain.token_ids[i], to.data() + i * page_bytes});
    }
    {
      auto store = Store::open(system_file_calls(), path, options);
      ASSERT_TRUE(ok(store));
      const Watch write;
      ASSERT_TRUE(ok((*store)->kv().append(chain.run(), 1)));
      const double append_s = write.seconds();
      ASSERT_TRUE(ok((*store)->commit()));
      std::cout << (compress ? "zstd: " : "plain: ") << bytes / 1e6 << " MB, append "
                << bytes / append_s / 1e9 << " GB/s, with commit " << bytes / write.seconds() / 1e9
                << " GB/s, on disk " << (*store)->kv().bytes_on_disk() / 1000 << " kB\n";
    }
    const Watch open;
    auto store = Store::open(system_file_calls(), path, options);
    ASSERT_TRUE(ok(store));
    const double open_s = open.seconds();
    const Watch read;
    EXPECT_EQ((*store)->kv().read(page_bytes, reads).good, pages);
    std::cout << "open " << open_s * 1e3 << " ms, read (warm) " << bytes / read.seconds() / 1e9
              << " GB/s\n";
    const Watch copy;
    const std::vector<uint8_t> copied(to);
    EXPECT_EQ(copied.size(), to.size());
    std::cout << "a copy in memory: " << bytes / copy.seconds() / 1e9 << " GB/s\n";
  }
}

}  // namespace
}  // namespace cascade
