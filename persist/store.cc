// What a commit consists of, and what happens when the store is opened.
#include "persist/store.h"

#include <algorithm>
#include <utility>

#include "base/failpoint.h"
#include "persist/recovery.h"
#include "persist/search_levels.h"

namespace cascade {

Store::Store(std::unique_ptr<StateDirectory> directory, std::unique_ptr<SqliteVfs> vfs,
             std::unique_ptr<Database> database)
    : directory_(std::move(directory)),
      vfs_(std::move(vfs)),
      database_(std::move(database)),
      chunks_(*database_),
      sessions_(*database_),
      chains_(*database_),
      commit_count_(directory_->calls(), directory_->path()) {}

Result<std::unique_ptr<Store>> Store::open(FileCalls& calls, const std::string& path,
                                           const StoreOptions& options) {
  ASSIGN_OR_RETURN(auto directory, StateDirectory::open(calls, path));
  auto vfs = std::make_unique<SqliteVfs>(calls);
  Findings findings = directory->findings();
  ASSIGN_OR_RETURN(auto database, open_metadata(*directory, *vfs, options.rebuild, findings));
  std::unique_ptr<Store> store(
      new Store(std::move(directory), std::move(vfs), std::move(database)));
  store->findings_ = std::move(findings);
  RETURN_IF_ERROR(store->start(options.kv));
  return store;
}

Status Store::start(const KvOptions& options) {
  ASSIGN_OR_RETURN(const int64_t complete, database_->number("SELECT complete FROM state"));
  ASSIGN_OR_RETURN(commits_, database_->number("SELECT commits FROM state"));
  if (complete == 0) RETURN_IF_ERROR(fill_new_database());
  RETURN_IF_ERROR(limit_search_levels(*database_));
  const int64_t noted = commit_count_.read().value_or(0);
  const bool lacks_commits = complete != 0 && noted > commits_;
  const bool lacks_rows = complete == 0 || lacks_commits;
  failpoint(Failpoint::kRecoverBegin);
  ASSIGN_OR_RETURN(kv_,
                   KvStore::open(directory_->calls(), *database_, directory_->kv_folder(), options,
                                 lacks_rows ? UnnamedPages::kFind : UnnamedPages::kRemove));
  if (lacks_rows) RETURN_IF_ERROR(salvage_pages(*directory_, noted, chains_, *kv_));
  for (const Finding& finding : kv_->findings()) findings_.push_back(finding);
  if (lacks_commits) {
    findings_.push_back({directory_->database_path(),
                         "the last " + std::to_string(noted - commits_) +
                             " commits are missing: its log was damaged, or it is an older copy"});
  }
  commits_ = std::max(commits_, noted);
  RETURN_IF_ERROR(commit());
  failpoint(Failpoint::kRecoverEnd);
  return finish_salvage(*directory_);
}

Status Store::remove(const std::string& tenant, const std::string& id) {
  RETURN_IF_ERROR(kv_->remove_uses(tenant, id));
  RETURN_IF_ERROR(kv_->remove_found());
  return chunks_.remove(tenant, id);
}

// A new database is complete once it has the content of the database that was set aside.
Status Store::fill_new_database() {
  RETURN_IF_ERROR(salvage(*directory_, chunks_, sessions_, findings_));
  return database_->change([&] { return database_->execute("UPDATE state SET complete=1"); });
}

Status Store::commit() {
  if (!database_->has_changes() && !uncertain_) return {};
  Status done = before_commit_ ? before_commit_() : Status();
  if (done.ok()) done = kv_->prepare_commit();
  if (done.ok()) {
    done = database_->change([&]() -> Status {
      ASSIGN_OR_RETURN(Query count, database_->query("UPDATE state SET commits=?"));
      return count.bind(commits_ + 1).run();
    });
  }
  if (done.ok()) done = database_->commit();
  uncertain_ = !done.ok();
  if (!done.ok()) {
    RETURN_IF_ERROR(rollback());
    return done;
  }
  commit_count_.write(++commits_);
  kv_->committed();
  failpoint(Failpoint::kAcknowledge);
  return {};
}

Status Store::rollback() {
  database_->rollback();
  return kv_->rolled_back();
}

Result<std::vector<Digest>> Store::oldest_pages(uint64_t bytes, const Digest& kept) {
  ASSIGN_OR_RETURN(std::vector<Digest> stay, chunks_.pinned_chains());
  ASSIGN_OR_RETURN(const std::vector<Digest> texts, kv_->pinned_texts());
  stay.insert(stay.end(), texts.begin(), texts.end());
  const std::vector<Digest> leased = kv_->leases().keys();
  stay.insert(stay.end(), leased.begin(), leased.end());
  stay.push_back(kept);
  return kv_->oldest(bytes, stay);
}

Result<bool> Store::forget_step() {
  RETURN_IF_ERROR(commit());
  failpoint(Failpoint::kForget);
  ASSIGN_OR_RETURN(const bool more, chunks_.forget_step());
  RETURN_IF_ERROR(commit());
  if (!more) RETURN_IF_ERROR(database_->empty_log());
  return more;
}

}  // namespace cascade
