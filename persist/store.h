// Everything that outlives the daemon's process: chunks, sessions, policies, and K and V.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_calls.h"
#include "persist/chain_table.h"
#include "persist/chunk_store.h"
#include "persist/chunk_table.h"
#include "persist/commit_count.h"
#include "persist/database.h"
#include "persist/finding.h"
#include "persist/kv_store.h"
#include "persist/session_table.h"
#include "persist/state_directory.h"

namespace cascade {

struct StoreOptions {
  KvOptions kv;
  // Sets the database aside and makes a new one, from the KV files and what can be read of the old
  // one.
  bool rebuild = false;
};

// A state directory (docs/data_files.md), owned by this process as long as this object lives.
// Changes are readable at once, and durable together when commit() returns success. One thread.
//
// Errors of all functions: kResourceExhausted (no space), kIo, kDataCorrupt (damage that came while
// the store was open: the next open() deals with it), kInvalidArgument.
class Store : public ChunkStore {
 public:
  // Makes or opens the state directory `path`. A damaged database is set aside, and a new one is
  // made from what is intact of it and from the KV files; findings() says what was lost. `calls`
  // must outlive this. Errors: as StateDirectory; kUnsupported if a newer program wrote the
  // database; kIo and kResourceExhausted, after which everything is as it was.
  static Result<std::unique_ptr<Store>> open(FileCalls& calls, const std::string& path,
                                             const StoreOptions& options = {});
  // Changes since the last commit() are undone.
  ~Store() override = default;

  // Chunks, as ChunkTable. Rows that load() leaves out are in findings().
  Status put(const Chunk& chunk) override { return chunks_.put(chunk); }
  Status touch(const std::string& tenant, const std::string& id, int64_t hits,
               int64_t registrations, int64_t last_used_us) override {
    return chunks_.touch(tenant, id, hits, registrations, last_used_us);
  }
  // Also removes the notes on which pages contain the chunk's text, and the pages that were found
  // (KvStore::remove_found()).
  Status remove(const std::string& tenant, const std::string& id) override;
  Result<std::vector<Chunk>> load() override { return chunks_.load(findings_); }
  // Sessions and policies, as SessionTable. Rows that are left out are in findings().
  Status put_session(const Session& session) override { return sessions_.put(session); }
  Status remove_session(const std::string& tenant, const std::string& id) override {
    return sessions_.remove(tenant, id);
  }
  Result<std::vector<Session>> load_sessions() override { return sessions_.load(findings_); }
  Status put_policy(const Policy& policy) override {
    if (policy.value.empty()) return sessions_.remove_policy(policy.tenant, policy.key);
    return sessions_.put_policy(policy);
  }
  Result<std::vector<Policy>> load_policies() override {
    return sessions_.load_policies(findings_);
  }

  // Makes all changes since the last commit durable: the bytes of pages, then the rows. One commit
  // serves any number of changes. After an error all of them are undone, pages included, and the
  // store can still be used. But if the process ends before another commit succeeds, the next
  // open() may find the changes of a commit that failed (all of them). After success, pages whose
  // file could not be synchronised are not stored: see kv().take_unwritten().
  Status commit() override;
  // Undoes the changes since the last commit.
  Status rollback() override;
  // From now on each commit() with changes runs `call` first, which makes durable what must be
  // durable before these changes. If that fails, the changes are undone. An empty `call` ends this.
  void set_before_commit(std::function<Status()> call) { before_commit_ = std::move(call); }

  // Pages to remove to make room for `bytes` (KvStore::oldest()). Left out are the pages of pinned
  // chunks, of prompts up to the ends of such chunks' texts, of chains up to leased pages, and of
  // the chain that ends with `kept`.
  Result<std::vector<Digest>> oldest_pages(uint64_t bytes, const Digest& kept);

  // Deleted texts stay in the search index and in the database's log for a while. Clears some of
  // these remains, and commits; false when the disk has none of them any more. For idle time.
  Result<bool> forget_step();

  ChunkTable& chunks() { return chunks_; }
  SessionTable& sessions() { return sessions_; }
  ChainTable& chains() { return chains_; }
  KvStore& kv() { return *kv_; }
  Database& database() { return *database_; }
  const StateDirectory& directory() const { return *directory_; }
  // Faults found since open(), and what was done about each.
  const Findings& findings() const { return findings_; }

 private:
  Store(std::unique_ptr<StateDirectory> directory, std::unique_ptr<SqliteVfs> vfs,
        std::unique_ptr<Database> database);

  Status start(const KvOptions& options);
  Status fill_new_database();

  // The order matters: members need members above them.
  std::unique_ptr<StateDirectory> directory_;
  std::unique_ptr<SqliteVfs> vfs_;
  std::unique_ptr<Database> database_;
  ChunkTable chunks_;
  SessionTable sessions_;
  ChainTable chains_;
  CommitCount commit_count_;
  std::unique_ptr<KvStore> kv_;
  std::function<Status()> before_commit_;
  int64_t commits_ = 0;
  // A commit failed: its changes may be in the log until another commit replaces them.
  bool uncertain_ = false;
  Findings findings_;
};

}  // namespace cascade
