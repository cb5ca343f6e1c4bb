// The number is in the index's structure record, as SQLite's ext/fts5/fts5_index.c describes it.
#include "persist/search_levels.h"

#include <sqlite3.h>

#include <algorithm>
#include <array>

namespace cascade {
namespace {

// The record: a cookie of 4 bytes; in newer versions perhaps a mark of 4 bytes; the number of
// levels, as a varint.
constexpr size_t kCookieBytes = 4;
constexpr std::array<uint8_t, 4> kMark = {0xFF, 0, 0, 1};

// A varint of SQLite that is at most 2^28: seven bits in a byte, the highest ones first, and all
// bytes but the last have their highest bit set.
int64_t small_varint(Blob bytes) {
  int64_t value = 0;
  for (size_t i = 0; i < std::min<size_t>(bytes.size(), 4); ++i) {
    value = value << 7 | (bytes[i] & 0x7F);
    if (bytes[i] < 0x80) return value;
  }
  return 0;
}

// An index with more levels cannot even be opened.
constexpr int64_t kReadableLevelsMax = 2000;

// Makes an index that cannot be opened one without content. SQLite lets nobody change the tables of
// an index unless that is switched on.
Status empty_search(Database& database) {
  const auto set_defensive = [&](int on) {
    sqlite3_db_config(database.handle(), SQLITE_DBCONFIG_DEFENSIVE, on, nullptr);
  };
  set_defensive(0);
  Status emptied = database.execute(
      "DELETE FROM chunk_search_data WHERE id NOT IN (1, 10);"
      "DELETE FROM chunk_search_idx;"
      "UPDATE chunk_search_data SET block=x'00000000000000' WHERE id=10;");
  set_defensive(1);
  return emptied;
}

}  // namespace

Result<int64_t> search_levels(Database& database) {
  ASSIGN_OR_RETURN(Query query, database.query("SELECT block FROM chunk_search_data WHERE id=10"));
  ASSIGN_OR_RETURN(const bool found, query.next());
  if (!found) return 0;
  Blob record = query.blob(0);
  if (record.size() < kCookieBytes) return 0;
  record = record.subspan(kCookieBytes);
  const bool has_mark =
      record.size() >= kMark.size() && std::ranges::equal(record.first(kMark.size()), kMark);
  return small_varint(has_mark ? record.subspan(kMark.size()) : record);
}

Status rebuild_search(Database& database) {
  ASSIGN_OR_RETURN(Query rebuild,
                   database.query("INSERT INTO chunk_search(chunk_search) VALUES('rebuild')"));
  return rebuild.run();
}

Status limit_search_levels(Database& database) {
  ASSIGN_OR_RETURN(const int64_t levels, search_levels(database));
  if (levels <= kSearchLevelsMax) return {};
  return database.change([&]() -> Status {
    if (levels > kReadableLevelsMax) RETURN_IF_ERROR(empty_search(database));
    return rebuild_search(database);
  });
}

}  // namespace cascade
