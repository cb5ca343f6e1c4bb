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

#include "base/hash.h"
#include "base/result.h"
#include "persist/sqlite_vfs.h"

struct sqlite3;
struct sqlite3_stmt;

namespace cascade {

using Blob = std::span<const uint8_t>;

// A prepared statement, from Database::query(). bind() binds all its values, add() one after the
// other; next() gives its rows. The statement is given back when this is destroyed. It must not
// outlive the database, and only one with the same SQL text may exist at a time.
class Query {
 public:
  explicit Query(sqlite3_stmt* statement) : statement_(statement) {}
  Query(Query&& other) noexcept;
  Query& operator=(Query&&) = delete;
  ~Query();

  // Binds the next parameter. The value is copied.
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

  // Whether there is another row; the functions below read its columns. Errors as Database.
  Result<bool> next();
  // Runs a statement to its end, for its effect.
  Status run();

  // Column `column` (from 0) of the row. Text and blobs are valid until the next call of next().
  int64_t integer(int column) const;
  uint64_t bits(int column) const { return static_cast<uint64_t>(integer(column)); }
  double real(int column) const;
  std::string text(int column) const;
  Blob blob(int column) const;
  // Reads a digest from a blob. If the blob is too short (in a damaged row), the rest is 0.
  Digest digest(int column) const;

 private:
  sqlite3_stmt* statement_;
  int bound_ = 0;
  int bind_result_ = 0;  // the first error of binding a value
};

// Changes come in groups: the first change() after a commit() begins a transaction, and commit()
// makes all of it durable. One thread.
// Errors of all functions: kDataCorrupt (a page or the structure is damaged), kResourceExhausted
// (the disk is full, or memory is), kIo, kConflict (another process has the file open),
// kInvalidArgument (a value that the schema refuses), kUnsupported. field = the database's path.
class Database {
 public:
  // Opens or creates the database `path`, exclusively, with a write-ahead log. The opened database
  // has every change that was durable, even if only the log had it. `vfs` must outlive this.
  static Result<std::unique_ptr<Database>> open(const SqliteVfs& vfs, const std::string& path);
  // Opens a database that may be damaged, to read what can be read. The files stay as they are.
  static Result<std::unique_ptr<Database>> open_damaged(const SqliteVfs& vfs,
                                                        const std::string& path);
  // Copies the log into the database and closes it. Changes that were not committed are undone.
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // Runs statements that give no rows.
  Status execute(const char* sql);
  // A statement. It is prepared once for each `sql`, which must be a literal.
  Result<Query> query(const char* sql);
  // The first column of the only row. kDataCorrupt if there is none.
  Result<int64_t> number(const char* sql);

  // Runs `work`. If it returns an error, none of its changes happen. If an error undid the whole
  // group (for lack of space, say), commit() returns that error.
  Status change(const std::function<Status()>& work);
  // Makes the changes since the last commit durable. After an error all of them are undone.
  Status commit();
  // Undoes the changes since the last commit.
  void rollback();
  bool has_changes() const { return has_changes_; }

  // Copies the content of the log into the database file, synchronises the file, empties the log
  // and forgets cached pages. After that, no copy of a deleted row is left or can come back
  // (btree_page.h). If a process died before it synchronised its log, that log may exist only in
  // the system's memory; so this is called before any commit. Precondition: no change since the
  // last commit.
  Status empty_log();
  // Reads the whole file and verifies the checksum of every page. Precondition: the log is empty.
  Status verify_pages();
  // Copies the database, as of the last commit, to a new file.
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
  std::optional<Error> lost_;  // why changes since the last commit were lost
};

// The error for an SQLite result code. `message` is SQLite's.
Error database_error(int code, const std::string& path, const std::string& message);

}  // namespace cascade
