// One SQLite connection: statements, changes in groups, errors as values.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "persist/sqlite_vfs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cascade {

using Blob = std::span<const uint8_t>;

// A prepared statement, from Database::query(). Its values are bound by bind(), or one by one, in
// order; rows come from next(). Given back when this is destroyed. It must not outlive the
// database, and there is one at a time of the same SQL text.
class Query {
 public:
  explicit Query(sqlite3_stmt* statement) : statement_(statement) {}
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;
  ~Query();

  // The value of the next parameter; copied.
  Query& add(std::string_view text);
  Query& add(const std::string& text) { return add(std::string_view(text)); }
  Query& add(const char* text) { return add(std::string_view(text)); }
  Query& add(Blob blob);
  Query& add(int64_t number);
  Query& add(int32_t number) { return add(int64_t{number}); }
  Query& add(uint64_t bits) { return add(static_cast<int64_t>(bits)); }
  Query& add(bool truth) { return add(int64_t{truth}); }
  Query& add(double number);
  template <class... Values>
  Query& bind(const Values&... values) {
    (add(values), ...);
    return *this;
  }

  // Whether there is another row; its columns are read below. Errors as Database.
  Result<bool> next();
  // Runs a statement to its end, for what it does.
  Status run();

  // Column `column` (from 0) of the row. Text and blobs are valid until the next call of next().
  int64_t integer(int column) const;
  uint64_t bits(int column) const { return static_cast<uint64_t>(integer(column)); }
  double real(int column) const;
  std::string text(int column) const;
  Blob blob(int column) const;

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int bind_result_ = 0;  // the first that failed
};

// Changes come in groups: the first change() after a commit() begins a transaction, commit() makes
// all of it durable. One thread.
// Errors of all functions: kDataCorrupt (a page or the structure is damaged), kResourceExhausted
// (the disk is full, or memory is), kIo, kConflict (another process has the file open),
// kInvalidArgument (a value that the schema refuses), kUnsupported. field = the database's path.
class Database {
 public:
  // Opens or creates the database `path`, exclusively, with a write-ahead log. Whatever was durable
  // is there. `vfs` must outlive this.
  static Result<std::unique_ptr<Database>> open(const SqliteVfs& vfs, const std::string& path);
  // Opens it to read what can be read of it, damaged as it may be: the files stay as they are.
  static Result<std::unique_ptr<Database>> open_damaged(const SqliteVfs& vfs,
                                                        const std::string& path);
  // Copies the log into the database and closes it. What was not committed is undone.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that give no rows.
  Status execute(const char* sql);
  // A statement. It is prepared once for each `sql`, which must be a literal.
  Result<Query> query(const char* sql);
  // The first column of the only row. kDataCorrupt if there is none.
  Result<int64_t> number(const char* sql);

  // Runs `work`, whose changes happen all, or not at all if it returns an error. After an error
  // that cost the whole group (no space, say), commit() says so.
  Status change(const std::function<Status()>& work);
  // Makes the changes since the last commit durable. After an error all of them are undone.
  Status commit();
  // Undoes the changes since the last commit.
  void rollback();
  bool has_changes() const { return has_changes_; }

  // Copies what the log holds into the database file, synchronises that, makes the log empty and
  // forgets cached pages: no copy of a deleted row is left, nor comes back (btree_page.h). A
  // log whose process died before it was synchronised may be in the system's memory only: so this
  // comes before any commit. Precondition: no change since the last commit.
  Status empty_log();
  // Reads the whole file and verifies the checksum of every page. Precondition: the log is empty.
  Status verify_pages();
  // Copies the database, as it was committed last, to a new file.
  Status copy_to(const SqliteVfs& vfs, const std::string& path);

  const std::string& path() const { return path_; }
  sqlite3* handle() const { return handle_; }

 private:
  Database(const SqliteVfs& vfs, std::string path) : vfs_(vfs), path_(std::move(path)) {}
  Status connect(const char* settings);
  Error error() const;
  bool in_transaction() const;

  const SqliteVfs& vfs_;
  std::string path_;
  sqlite3* handle_ = nullptr;
  std::unordered_map<const char*, sqlite3_stmt*> statements_;  // by SQL literal
  bool has_changes_ = false;
  std::optional<Error> lost_;  // why changes since the last commit are gone
};

// What an SQLite result code means. `message` is SQLite's.
Error database_error(int code, const std::string& path, const std::string& message);

}  // namespace cascade
