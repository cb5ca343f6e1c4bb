// Databases of other versions: older ones become today's, newer ones are refused.
#include "persist/schema.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "base/file.h"
#include "tests/failing_file_calls.h"
#include "tests/persist/ledger.h"
#include "tests/persist/memory_disk.h"
#include "tests/places.h"

namespace cascade {
namespace {

using testing::kDatabase;
using testing::Ledger;
using testing::make_chunk;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;

const std::string kFixtures = (testing::source_dir() / "tests/persist/data/").string();

// The contents of a fixture, whatever version wrote it: chunks 0 to 4, sessions 2 and 3, a policy,
// and chain 0 in a KV file.
void fill_fixture(Store& store) {
  for (uint64_t n = 0; n < 5; ++n) ASSERT_TRUE(ok(store.put(make_chunk(n))));
  for (const uint64_t n : {2, 3}) {
    ASSERT_TRUE(ok(store.sessions().put(testing::make_session(n))));
  }
  ASSERT_TRUE(ok(store.sessions().put_policy({"a", "eviction", "lru"})));
  ASSERT_TRUE(ok(store.kv().put_model({testing::model_digest(), "test", "int8", "int8", 2, 1})));
  ASSERT_TRUE(ok(store.kv().append(testing::TestChain(0).run(), 1)));
  ASSERT_TRUE(ok(store.commit()));
}

void expect_fixture(Store& store) {
  EXPECT_TRUE(store.findings().empty());
  const auto chunks = store.load();
  ASSERT_TRUE(ok(chunks));
  ASSERT_EQ(chunks->size(), 5u);
  for (uint64_t n = 0; n < 5; ++n) EXPECT_EQ((*chunks)[n], make_chunk(n));
  Findings findings;
  EXPECT_THAT(*store.sessions().load(findings),
              ::testing::ElementsAre(testing::make_session(2), testing::make_session(3)));
  EXPECT_THAT(*store.sessions().load_policies(findings),
              ::testing::ElementsAre(Policy{"a", "eviction", "lru"}));
  EXPECT_THAT(*store.kv().models(), ::testing::ElementsAre(ModelRecord{
                                        testing::model_digest(), "test", "int8", "int8", 2, 1}));
  EXPECT_EQ(read_chain(store.kv(), testing::TestChain(0)).good, 3u);
  EXPECT_EQ(store.chunks().search("a", "chunk", 10)->size(), 5u);
}

void put_file(MemoryDisk& disk, const std::string& path, const std::string& content) {
  const int fd = disk.open(path, O_RDWR | O_CREAT, 0600);
  disk.write(fd, content.data(), content.size(), 0);
  disk.close(fd);
}

// If CASCADE_WRITE_FIXTURES is set to a version that is to be released, writes its fixture.
TEST(Schema, databases_of_every_released_version_are_opened) {
  if (const char* version = std::getenv("CASCADE_WRITE_FIXTURES"); version != nullptr) {
    MemoryDisk disk;
    auto store = open_store(disk);
    fill_fixture(*store);
    store.reset();
    for (const auto& [path, name] :
         {std::pair(kDatabase, ".db"), {"/state/kv/00000001.kv", ".kv"}}) {
      const std::vector<uint8_t>& bytes = disk.bytes(path);
      std::ofstream(kFixtures + "version" + version + name, std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
  }
  for (size_t version = 1; version <= schema_migrations().size(); ++version) {
    const std::string name = kFixtures + "version" + std::to_string(version);
    const auto database = read_file(name + ".db", 1 << 20);
    const auto kv = read_file(name + ".kv", 1 << 20);
    ASSERT_TRUE(ok(database));
    ASSERT_TRUE(ok(kv));
    MemoryDisk disk;
    ASSERT_EQ(disk.make_folder("/state"), 0);
    ASSERT_EQ(disk.make_folder("/state/kv"), 0);
    put_file(disk, kDatabase, *database);
    put_file(disk, "/state/kv/00000001.kv", *kv);
    auto store = open_store(disk);
    expect_fixture(*store);
  }
}

TEST(Schema, a_newer_version_is_refused_with_a_hint_and_left_as_it_is) {
  MemoryDisk disk;
  auto store = open_store(disk);
  fill_fixture(*store);
  ASSERT_TRUE(ok(store->database().execute("PRAGMA user_version=99")));
  store.reset();
  const std::vector<uint8_t> before = disk.bytes(kDatabase);
  const auto refused = Store::open(disk, testing::kStateDir, testing::test_options());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, ::testing::HasSubstr("use the newer program"));
  EXPECT_EQ(disk.bytes(kDatabase), before);
}

TEST(Schema, another_programs_database_is_set_aside) {
  MemoryDisk disk;
  ASSERT_EQ(disk.make_folder("/state"), 0);
  put_file(
      disk, kDatabase,
      "not a database at all, but a text of more than a hundred bytes: " + std::string(5000, 'x'));
  auto store = open_store(disk);
  EXPECT_FALSE(store->findings().empty());
  EXPECT_TRUE(disk.has("/state/metadata.salvaged.db"));
  fill_fixture(*store);
}

// A step to a next version that changes every row, as a real step might.
constexpr char kNextVersion[] =
    "ALTER TABLE chunks ADD COLUMN note TEXT NOT NULL DEFAULT '';"
    "UPDATE chunks SET note = 'of ' || id;"
    "CREATE TABLE extra(a INTEGER PRIMARY KEY) STRICT;";

TEST(Schema, a_kill_at_any_operation_of_a_migration_is_harmless) {
  MemoryDisk disk;
  auto store = open_store(disk);
  fill_fixture(*store);
  store.reset();
  std::vector<const char*> migrations(schema_migrations().begin(), schema_migrations().end());
  migrations.push_back(kNextVersion);
  const auto newest = static_cast<int64_t>(migrations.size());
  for (const bool cut : {false, true}) {
    int n = 0;
    for (bool reached = true; reached;) {
      MemoryDisk killed = disk.copy();
      testing::FailingFileCalls calls(++n, true, EIO, killed);
      {
        const SqliteVfs vfs(calls);
        auto database = Database::open(vfs, kDatabase);
        if (database.ok()) (void)migrate(**database, migrations).ok();
        reached = calls.failed();
      }
      if (cut) killed.cut_power();
      killed.kill();
      const SqliteVfs vfs(killed);
      auto database = Database::open(vfs, kDatabase);
      ASSERT_TRUE(ok(database)) << n;
      const auto version = (*database)->number("PRAGMA user_version");
      EXPECT_TRUE(*version == newest || *version == newest - 1) << n;
      ASSERT_TRUE(ok(migrate(**database, migrations))) << n;
      EXPECT_EQ(*(*database)->number("SELECT count(*) FROM chunks WHERE note = 'of ' || id"), 5);
      EXPECT_TRUE(ok((*database)->commit()));
    }
    EXPECT_GT(n, 10);
  }
}

}  // namespace
}  // namespace cascade
