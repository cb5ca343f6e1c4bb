// sqlite3_* calls, and what their result codes mean.
#include "persist/database.h"

#include <fcntl.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/failpoint.h"

namespace cascade {
namespace {

// The settings of every connection. Deleted content is overwritten. What does not fit into the
// cache is written to the log, never to temporary files. A commit that makes the log longer than 4
// MiB copies the log into the database and shortens the log again.
constexpr char kSettings[] =
    "PRAGMA locking_mode=EXCLUSIVE;"
    "PRAGMA temp_store=MEMORY;"
    "PRAGMA foreign_keys=ON;"
    "PRAGMA secure_delete=ON;"
    "PRAGMA cache_size=-16384;";
constexpr char kWriteSettings[] =
    "PRAGMA journal_mode=WAL;"
    "PRAGMA synchronous=FULL;"
    "PRAGMA wal_autocheckpoint=1000;"
    "PRAGMA journal_size_limit=4194304;";

constexpr size_t kScanBytes = size_t{1} << 20;

// SQLite reads an empty blob from a null pointer as NULL, which the schema refuses.
const void* not_null(const void* data) {
  return data != nullptr ? data : "";
}

}  // namespace

Error database_error(int code, const std::string& path, const std::string& message) {
  const auto make = [&](ErrorCode made) { return Error{made, path, message}; };
  if (code == SQLITE_IOERR_DATA) {
    return data_corrupt(path, "a page of the database does not have its checksum");
  }
  switch (code & 0xFF) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB: return make(ErrorCode::kDataCorrupt);
    case SQLITE_FULL:
    case SQLITE_NOMEM: return make(ErrorCode::kResourceExhausted);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
    case SQLITE_READONLY: return make(ErrorCode::kIo);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: return {ErrorCode::kConflict, path, "another process has it open"};
    case SQLITE_CONSTRAINT:
    case SQLITE_TOOBIG:
    case SQLITE_MISMATCH:
    case SQLITE_RANGE: return make(ErrorCode::kInvalidArgument);
    default: return make(ErrorCode::kInternal);
  }
}

Query::Query(Query&& other) noexcept
    : statement_(std::exchange(other.statement_, nullptr)),
      bound_(other.bound_),
      bind_result_(other.bind_result_) {}

Query::~Query() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

Query& Query::add(std::string_view text) {
  const int result = sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(),
                                         text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Query& Query::add(Blob blob) {
  const int result = sqlite3_bind_blob64(statement_, ++bound_, not_null(blob.data()), blob.size(),
                                         SQLITE_TRANSIENT);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Query& Query::add(int64_t number) {
  const int result = sqlite3_bind_int64(statement_, ++bound_, number);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Query& Query::add(double number) {
  const int result = sqlite3_bind_double(statement_, ++bound_, number);
  if (bind_result_ == SQLITE_OK) bind_result_ = result;
  return *this;
}

Result<bool> Query::next() {
  sqlite3* handle = sqlite3_db_handle(statement_);
  int code = bind_result_;
  if (code == SQLITE_OK) code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const char* path = sqlite3_db_filename(handle, "main");
  return database_error(code, path != nullptr ? path : "", sqlite3_errmsg(handle));
}

Status Query::run() {
  while (true) {
    ASSIGN_OR_RETURN(const bool more, next());
    if (!more) return {};
  }
}

int64_t Query::integer(int column) const {
  return sqlite3_column_int64(statement_, column);
}

double Query::real(int column) const {
  return sqlite3_column_double(statement_, column);
}

std::string Query::text(int column) const {
  const auto* data = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Blob Query::blob(int column) const {
  const auto* data = static_cast<const uint8_t*>(sqlite3_column_blob(statement_, column));
  if (data == nullptr) return {};
  return {data, static_cast<size_t>(sqlite3_column_bytes(statement_, column))};
}

Digest Query::digest(int column) const {
  const Blob bytes = blob(column);
  Digest digest;
  std::memcpy(digest.bytes.data(), bytes.data(), std::min(bytes.size(), digest.bytes.size()));
  return digest;
}

Result<std::unique_ptr<Database>> Database::open(const SqliteVfs& vfs, const std::string& path) {
  std::unique_ptr<Database> database(new Database(vfs, path));
  RETURN_IF_ERROR(database->connect(kSettings));
  RETURN_IF_ERROR(database->execute(kWriteSettings));
  return database;
}

Result<std::unique_ptr<Database>> Database::open_damaged(const SqliteVfs& vfs,
                                                         const std::string& path) {
  std::unique_ptr<Database> database(new Database(vfs, path));
  RETURN_IF_ERROR(database->connect(kSettings));
  sqlite3_db_config(database->handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
  RETURN_IF_ERROR(database->execute("PRAGMA wal_autocheckpoint=0; PRAGMA query_only=ON;"));
  return database;
}

Status Database::connect(const char* settings) {
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_NOFOLLOW | SQLITE_OPEN_EXRESCODE;
  if (sqlite3_open_v2(path_.c_str(), &handle_, flags, vfs_.name()) != SQLITE_OK) return error();
  sqlite3_db_config(handle_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  // The number of reserved bytes and the page size take effect only in a new database.
  int reserved = kDatabaseReservedBytes;
  sqlite3_file_control(handle_, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
  RETURN_IF_ERROR(execute("PRAGMA page_size=4096;"));
  return execute(settings);
}

Database::~Database() {
  rollback();
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close(handle_);
}

Error Database::error() const {
  if (handle_ == nullptr) return database_error(SQLITE_NOMEM, path_, "no memory");
  return database_error(sqlite3_extended_errcode(handle_), path_, sqlite3_errmsg(handle_));
}

bool Database::in_transaction() const {
  return sqlite3_get_autocommit(handle_) == 0;
}

Status Database::execute(const char* sql) {
  if (sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error();
  return {};
}

Result<Query> Database::query(const char* sql) {
  sqlite3_stmt*& statement = statements_[sql];
  if (statement == nullptr && sqlite3_prepare_v3(handle_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                 &statement, nullptr) != SQLITE_OK) {
    return error();
  }
  return Query(statement);
}

Result<int64_t> Database::number(const char* sql) {
  ASSIGN_OR_RETURN(Query found, query(sql));
  ASSIGN_OR_RETURN(const bool any, found.next());
  if (!any) return data_corrupt(path_, "a row is missing");
  return found.integer(0);
}

Status Database::change(const std::function<Status()>& work) {
  if (!in_transaction()) RETURN_IF_ERROR(execute("BEGIN IMMEDIATE"));
  has_changes_ = true;
  RETURN_IF_ERROR(execute("SAVEPOINT change"));
  Status done = work();
  if (done.ok()) done = execute("RELEASE change");
  if (done.ok()) return {};
  // SQLite undoes the whole transaction after some errors.
  if (!in_transaction() || !execute("ROLLBACK TO change; RELEASE change").ok()) {
    rollback();
    has_changes_ = true;
    lost_ = done.error();
  }
  return done;
}

Status Database::commit() {
  if (lost_) {
    const Error why = *std::move(lost_);
    rollback();
    return why;
  }
  if (in_transaction()) {
    failpoint(Failpoint::kCommitBefore);
    if (const Status done = execute("COMMIT"); !done.ok()) {
      rollback();
      return done;
    }
    failpoint(Failpoint::kCommitAfter);
  }
  has_changes_ = false;
  return {};
}

void Database::rollback() {
  if (handle_ != nullptr && in_transaction()) (void)execute("ROLLBACK").ok();
  lost_.reset();
  has_changes_ = false;
}

Status Database::empty_log() {
  RETURN_IF_ERROR(execute("PRAGMA wal_checkpoint(TRUNCATE)"));
  // The cached pages still have the bytes that the VFS cleared while it wrote the pages to the
  // file. The next change of a cached page would write these bytes to the log.
  sqlite3_db_release_memory(handle_);
  return {};
}

Status Database::verify_pages() {
  FileCalls& calls = vfs_.calls();
  const OwnedFd file(calls, calls.open(path_, O_RDONLY | O_NOFOLLOW));
  if (!file.ok()) return io_error(path_, errno);
  ASSIGN_OR_RETURN(const int64_t pages, number("PRAGMA page_count"));
  int64_t verified = 0;
  while (verified < pages) {
    const auto offset = static_cast<uint64_t>(verified) * kDatabasePageBytes;
    ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes,
                     read_fully(calls, file.fd(), kScanBytes, offset, path_));
    if (bytes.size() < kDatabasePageBytes) return data_corrupt(path_, "the file is cut off");
    for (size_t at = 0; at + kDatabasePageBytes <= bytes.size() && verified < pages;
         at += kDatabasePageBytes) {
      ++verified;
      if (!is_database_page(std::span(bytes).subspan(at, kDatabasePageBytes),
                            static_cast<uint64_t>(verified))) {
        return data_corrupt(path_, "page " + std::to_string(verified) + " of " +
                                       std::to_string(pages) + " does not have its checksum");
      }
    }
  }
  return {};
}

Status Database::copy_to(const SqliteVfs& vfs, const std::string& path) {
  Database target(vfs, path);
  RETURN_IF_ERROR(target.connect(kSettings));
  sqlite3_backup* backup = sqlite3_backup_init(target.handle_, "main", handle_, "main");
  if (backup == nullptr) return target.error();
  sqlite3_backup_step(backup, -1);
  if (sqlite3_backup_finish(backup) != SQLITE_OK) return target.error();
  return {};
}

}  // namespace cascade
