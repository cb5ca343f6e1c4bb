// SQLite's file operations, by way of base/file_calls.h, with a checksum in every database page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/file_calls.h"

namespace cascade {

// SQLite itself does not notice that a stored byte has changed. So each page of a database file
// ends with XXH3-64 of its other bytes, seeded with its number: damage in a page and pages in the
// wrong place are errors when they are read. The log beside the database has SQLite's checksums.
inline constexpr size_t kDatabasePageBytes = 4096;
inline constexpr size_t kDatabaseReservedBytes = 8;

// Whether `page`, kDatabasePageBytes long, is the intact page `number` (from 1).
bool is_database_page(std::span<const uint8_t> page, uint64_t number);

// An operating system interface for SQLite ("VFS"). Databases that were opened with it must be
// closed before it is destroyed. There is no shared memory: a database in WAL mode must be opened
// in exclusive locking mode. Temporary files are refused.
class SqliteVfs {
 public:
  // Whether pages with a wrong checksum give an error (SQLITE_IOERR_DATA), or are read all the
  // same, to save what can be saved.
  enum class Damaged { kRefuse, kRead };

  // `calls` must outlive this.
  explicit SqliteVfs(FileCalls& calls, Damaged damaged = Damaged::kRefuse);
  ~SqliteVfs();
  SqliteVfs(const SqliteVfs&) = delete;
  SqliteVfs& operator=(const SqliteVfs&) = delete;

  // For sqlite3_open_v2().
  const char* name() const;
  FileCalls& calls() const;

  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace cascade
