// The search index stays usable, however often chunks are deleted.
#include "persist/search_levels.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::make_chunk;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;

TEST(SearchLevels, grow_with_deletions_and_are_limited) {
  MemoryDisk disk;
  auto store = open_store(disk);
  for (uint64_t n = 0; n < 300; ++n) ASSERT_TRUE(ok(store->put(make_chunk(n))));
  int64_t most = 0;
  bool began_anew = false;
  for (uint64_t n = 1000; n < 2020; ++n) {
    const Chunk chunk = make_chunk(n);
    ASSERT_TRUE(ok(store->put(chunk)));
    ASSERT_TRUE(ok(store->commit()));
    ASSERT_TRUE(ok(store->remove(chunk.tenant, chunk.id)));
    while (true) {
      const auto more = store->forget_step();
      ASSERT_TRUE(ok(more));
      if (!*more) break;
    }
    const int64_t levels = *search_levels(store->database());
    began_anew = began_anew || levels < most;
    most = std::max(most, levels);
  }
  EXPECT_TRUE(began_anew) << most;
  EXPECT_LE(most, kSearchLevelsMax + 4);
  EXPECT_TRUE(ok(store->chunks().verify_search()));
  EXPECT_EQ(store->chunks().search("a", "chunk", 1000)->size(), 300u);
}

// As SQLite 3.40 leaves it when it has refused the first deletion.
TEST(SearchLevels, an_index_that_is_full_is_built_anew_at_the_start) {
  MemoryDisk disk;
  {
    auto store = open_store(disk);
    for (uint64_t n = 0; n < 5; ++n) ASSERT_TRUE(ok(store->put(make_chunk(n))));
    ASSERT_TRUE(ok(store->commit()));
    // A cookie; 2,002 levels, no segment, no writes; each level without merges and segments.
    std::string record("\0\0\0\0\x8F\x52\0\0", 8);
    record.append(2 * 2002, '\0');
    sqlite3* const handle = store->database().handle();
    ASSERT_EQ(sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr), SQLITE_OK);
    auto change = store->database().query("UPDATE chunk_search_data SET block=? WHERE id=10");
    ASSERT_TRUE(ok(change));
    change->add(Blob(reinterpret_cast<const uint8_t*>(record.data()), record.size()));
    ASSERT_TRUE(ok(change->run()));
    EXPECT_EQ(*search_levels(store->database()), 2002);
    ASSERT_TRUE(ok(store->commit()));
  }
  auto store = open_store(disk);
  EXPECT_LE(*search_levels(store->database()), 1);
  EXPECT_EQ(store->chunks().search("a", "chunk", 10)->size(), 5u);
  EXPECT_TRUE(ok(store->remove("a", make_chunk(1).id)));
}

}  // namespace
}  // namespace cascade
