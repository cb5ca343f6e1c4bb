// metadata.db is renamed to metadata.damaged.db, a new one is filled from it, then the damaged one
// is renamed to metadata.salvaged.db. Until the new one says that it is complete, every start does
// this again.
#include "persist/recovery.h"

#include <cerrno>
#include <utility>

#include "base/counted.h"
#include "persist/schema.h"

namespace cascade {
namespace {

std::string damaged_path(const StateDirectory& directory) {
  return directory.path() + "/metadata.damaged.db";
}

std::string salvaged_path(const StateDirectory& directory) {
  return directory.path() + "/metadata.salvaged.db";
}

bool exists(FileCalls& calls, const std::string& path) {
  struct stat info = {};
  return calls.path_status(path, info) == 0;
}

// Renames a file, if it exists.
Status rename_if_there(FileCalls& calls, const std::string& from, const std::string& to) {
  if (calls.rename(from, to) == 0 || errno == ENOENT) return {};
  return io_error(from, errno);
}

Status set_aside(const StateDirectory& directory) {
  FileCalls& calls = directory.calls();
  const std::string path = directory.database_path();
  const std::string damaged = damaged_path(directory);
  if (exists(calls, damaged)) {
    // The database that is damaged now is a new one that was not complete yet. The one that was set
    // aside before has more, so it is kept.
    if (calls.remove(path) != 0 && errno != ENOENT) return io_error(path, errno);
    calls.remove(path + "-wal");
  } else {
    RETURN_IF_ERROR(rename_if_there(calls, path + "-wal", damaged + "-wal"));
    RETURN_IF_ERROR(rename_if_there(calls, path, damaged));
  }
  calls.remove(path + "-journal");
  return sync_folder(calls, directory.path());
}

Result<std::unique_ptr<Database>> open_current(const StateDirectory& directory,
                                               const SqliteVfs& vfs) {
  ASSIGN_OR_RETURN(auto database, Database::open(vfs, directory.database_path()));
  const Status copied = database->empty_log();
  // Without space, committed changes stay in the log, and the database is used as it is.
  const bool no_space = !copied.ok() && copied.error().code == ErrorCode::kResourceExhausted;
  if (!copied.ok() && !no_space) return copied.error();
  if (copied.ok()) RETURN_IF_ERROR(database->verify_pages());
  RETURN_IF_ERROR(migrate(*database));
  RETURN_IF_ERROR(database->number("SELECT complete FROM state"));
  return database;
}

// Whether every page of the database is intact, and no commit is missing.
bool is_sound(Database& database, int64_t commits) {
  if (!database.verify_pages().ok()) return false;
  const auto has = database.number("SELECT commits FROM state");
  return has.ok() && *has >= commits;
}

bool is_damage(const Error& error) {
  // If the schema lacks something, SQLite reports an error of the statement.
  return error.code == ErrorCode::kDataCorrupt || error.code == ErrorCode::kInternal;
}

}  // namespace

Result<std::unique_ptr<Database>> open_metadata(const StateDirectory& directory,
                                                const SqliteVfs& vfs, bool rebuild,
                                                Findings& findings) {
  {
    // A rebuild opens the database too: this empties its log, so that an intact database is set
    // aside without one.
    auto database = open_current(directory, vfs);
    if (!rebuild) {
      if (database.ok() || !is_damage(database.error())) return database;
      findings.push_back({directory.database_path(), database.error().message +
                                                         ": it is made anew from its good rows " +
                                                         "and from the KV files"});
    }
  }
  RETURN_IF_ERROR(set_aside(directory));
  return open_current(directory, vfs);
}

Status salvage(const StateDirectory& directory, ChunkTable& chunks, SessionTable& sessions,
               Findings& findings) {
  const std::string path = damaged_path(directory);
  if (!exists(directory.calls(), path)) return {};
  const SqliteVfs vfs(directory.calls(), SqliteVfs::Damaged::kRead);
  std::vector<Chunk> good_chunks;
  SessionTable::Salvaged good;
  if (auto damaged = Database::open_damaged(vfs, path); damaged.ok()) {
    good_chunks = ChunkTable(**damaged).salvage();
    good = SessionTable(**damaged).salvage();
  }
  for (const Chunk& chunk : good_chunks) RETURN_IF_ERROR(chunks.put(chunk));
  for (const Session& session : good.sessions) RETURN_IF_ERROR(sessions.put(session));
  for (const Policy& policy : good.policies) RETURN_IF_ERROR(sessions.put_policy(policy));
  findings.push_back({path, counted(good_chunks.size(), "chunk") + ", " +
                                counted(good.sessions.size(), "session") + " and " +
                                std::to_string(good.policies.size()) +
                                (good.policies.size() == 1 ? " policy" : " policies") +
                                " were saved"});
  return {};
}

Status salvage_pages(const StateDirectory& directory, int64_t commits, ChainTable& chains,
                     KvStore& kv) {
  const std::string path = damaged_path(directory);
  const SqliteVfs vfs(directory.calls(), SqliteVfs::Damaged::kRead);
  auto damaged = exists(directory.calls(), path)
                     ? Database::open_damaged(vfs, path)
                     : Result<std::unique_ptr<Database>>(not_found(path, "does not exist"));
  if (!damaged.ok()) return kv.put_chunk_owners();
  PageTable pages(**damaged);
  for (const ChunkChain& chain : ChainTable(**damaged).salvage()) {
    RETURN_IF_ERROR(chains.put(chain));
  }
  for (const PageUseRow& use : pages.salvage_uses()) RETURN_IF_ERROR(kv.put_use(use));
  RETURN_IF_ERROR(kv.put_chunk_owners());
  return is_sound(**damaged, commits) ? kv.take_owners(pages) : Status();
}

Status finish_salvage(const StateDirectory& directory) {
  FileCalls& calls = directory.calls();
  const std::string damaged = damaged_path(directory);
  if (!exists(calls, damaged)) return {};
  const std::string salvaged = salvaged_path(directory);
  calls.remove(salvaged + "-wal");
  RETURN_IF_ERROR(rename_if_there(calls, damaged + "-wal", salvaged + "-wal"));
  RETURN_IF_ERROR(rename_if_there(calls, damaged, salvaged));
  return sync_folder(calls, directory.path());
}

}  // namespace cascade
