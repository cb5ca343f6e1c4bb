// Deleted bytes are nowhere in the file of a database, wherever their rows have been.
#include "persist/btree_page.h"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/random.h"
#include "persist/database.h"
#include "persist/sqlite_vfs.h"
#include "tests/long_tests.h"
#include "tests/persist/store_testing.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::ok;

// The size of six token ids.
constexpr size_t kMarkBytes = 24;

std::string random_bytes(Random& random, size_t count) {
  std::string bytes;
  for (size_t i = 0; i < count; ++i) bytes += static_cast<char>(random.below(256));
  return bytes;
}

// Rows in the order of their random keys, so that every insertion may move others.
class MovedRows : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = Database::open(vfs_, path_);
    ASSERT_TRUE(ok(opened));
    database_ = *std::move(opened);
    ASSERT_TRUE(database_
                    ->execute("CREATE TABLE texts(id TEXT PRIMARY KEY, ids BLOB NOT NULL,"
                              " uses INTEGER NOT NULL DEFAULT 0)")
                    .ok());
  }

  void insert(const std::string& id, const std::string& mark) {
    const size_t marks = 1 + random_.below(random_.below(4) == 0 ? 300 : 30);
    std::string ids;
    for (size_t i = 0; i < marks; ++i) ids += mark;
    run("INSERT INTO texts(id, ids) VALUES(?, ?)", id, &ids);
    there_[id] = mark;
  }
  void touch(const std::string& id) {
    run("UPDATE texts SET uses = uses + 1 WHERE id = ?", id, nullptr);
  }
  void remove(const std::string& id) {
    run("DELETE FROM texts WHERE id = ?", id, nullptr);
    gone_.push_back(there_[id]);
    there_.erase(id);
  }

  // How many marks of removed rows are in the file.
  size_t found() {
    EXPECT_TRUE(database_->commit().ok());
    EXPECT_TRUE(database_->empty_log().ok());
    return found_in(path_);
  }
  size_t found_in_log() {
    EXPECT_TRUE(database_->commit().ok());
    return found_in(path_ + "-wal");
  }

  Random random_{testing::test_seed()};
  std::map<std::string, std::string> there_;  // marks by id

 private:
  size_t found_in(const std::string& path) {
    const auto file = read_file(path, size_t{1} << 30);
    EXPECT_TRUE(ok(file));
    size_t count = 0;
    for (const std::string& mark : gone_) count += file->find(mark) != std::string::npos ? 1 : 0;
    return count;
  }

  void run(const char* sql, const std::string& id, const std::string* blob) {
    const Status done = database_->change([&]() -> Status {
      ASSIGN_OR_RETURN(Query query, database_->query(sql));
      query.add(id);
      if (blob != nullptr) {
        query.add(Blob(reinterpret_cast<const uint8_t*>(blob->data()), blob->size()));
      }
      return query.run();
    });
    EXPECT_TRUE(done.ok()) << done.error().to_string();
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "rows.db").string();
  SqliteVfs vfs_{system_file_calls()};

 protected:
  std::vector<std::string> gone_;
  std::unique_ptr<Database> database_;
};

TEST_F(MovedRows, leave_nothing_behind_when_they_are_deleted) {
  const int rounds = testing::long_or(30, 12);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 60; ++i) {
      insert(random_bytes(random_, 8), random_bytes(random_, kMarkBytes));
      if (random_.below(3) == 0) {
        const auto any = there_.lower_bound(random_bytes(random_, 2));
        if (any != there_.end()) remove(any->first);
      }
      if (random_.below(20) == 0) {
        ASSERT_TRUE(database_->commit().ok());
      }
    }
    ASSERT_EQ(found(), 0u) << "of " << gone_.size() << " deleted rows, in round " << round;
  }
  while (!there_.empty()) remove(there_.begin()->first);
  EXPECT_EQ(found(), 0u);
}

// The pages in SQLite's cache have copies of deleted rows, too, and a change logs whole pages.
TEST_F(MovedRows, do_not_come_back_in_the_log_of_later_changes) {
  const int rounds = testing::long_or(100, 30);
  for (int round = 0; round < rounds; ++round) {
    for (int i = 0; i < 6; ++i) {
      insert(random_bytes(random_, 8), random_bytes(random_, kMarkBytes));
      const auto any = there_.lower_bound(random_bytes(random_, 2));
      if (any != there_.end()) remove(any->first);
    }
    ASSERT_EQ(found(), 0u);
    for (int i = 0; i < 12; ++i) {
      const auto any = there_.lower_bound(random_bytes(random_, 2));
      if (any != there_.end()) touch(any->first);
    }
    ASSERT_EQ(found_in_log(), 0u) << "of " << gone_.size() << " deleted rows, in round " << round;
  }
}

TEST(ClearUnused, leaves_what_is_no_page_of_a_tree_alone) {
  Random random(testing::test_seed());
  for (int rounds = testing::long_or(20'000, 4'000); rounds > 0; --rounds) {
    std::vector<uint8_t> page(random.below(2) == 0 ? 4088 : random.below(200));
    for (uint8_t& byte : page) byte = static_cast<uint8_t>(random.below(256));
    std::vector<uint8_t> before = page;
    const uint64_t number = 1 + random.below(3);
    const size_t kind = number == 1 ? 100 : 0;
    clear_unused(page, number);  // stays within the page, whatever the bytes are
    if (page.size() <= kind) continue;
    page = before;
    page[kind] = 0;
    before = page;
    clear_unused(page, number);
    EXPECT_EQ(page, before);
  }
}

}  // namespace
}  // namespace cascade
