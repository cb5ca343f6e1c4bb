// Runs SQLite's own check, then checks the checksums of pages and rows, the search index, the
// owners of pages, and at last the KV files.
#include "persist/check.h"

#include <string>

namespace cascade {
namespace {

void note(Findings& findings, const std::string& where, const Status& status) {
  if (!status.ok()) findings.push_back({where, status.error().message});
}

}  // namespace

Status Check::check_database() {
  Database& database = store_.database();
  // With an empty log everything is in the database file.
  RETURN_IF_ERROR(database.empty_log());
  note(findings_, database.path(), database.verify_pages());
  ASSIGN_OR_RETURN(Query structure, database.query("PRAGMA integrity_check(100)"));
  while (true) {
    const auto more = structure.next();
    if (!more.ok()) note(findings_, database.path(), more.error());
    if (!more.ok() || !*more) break;
    if (structure.text(0) != "ok") findings_.push_back({database.path(), structure.text(0)});
  }
  const auto chunks = store_.chunks().load(findings_);
  if (!chunks.ok()) note(findings_, "chunks", chunks.error());
  const auto sessions = store_.sessions().load(findings_);
  if (!sessions.ok()) note(findings_, "sessions", sessions.error());
  const auto policies = store_.sessions().load_policies(findings_);
  if (!policies.ok()) note(findings_, "policies", policies.error());
  note(findings_, "search index", store_.chunks().verify_search());
  if (owners_ && findings_.empty()) {
    const bool repair = mode_ == Mode::kRepair;
    note(findings_, "pages", store_.kv().verify_owners(repair, findings_));
  }
  return {};
}

Status Check::repair_database() {
  RETURN_IF_ERROR(store_.chunks().repair());
  RETURN_IF_ERROR(store_.sessions().repair());
  Database& database = store_.database();
  return database.change([&] { return database.execute("REINDEX"); });
}

Result<bool> Check::step(uint64_t bytes_max) {
  RETURN_IF_ERROR(store_.commit());
  if (!database_done_) {
    database_done_ = true;
    RETURN_IF_ERROR(check_database());
    if (mode_ == Mode::kRepair && !findings_.empty()) {
      if (const Status repaired = repair_database(); !repaired.ok()) {
        findings_.push_back({store_.database().path(), "cannot be repaired while it is open, the " +
                                                           std::string("next start rebuilds it: ") +
                                                           repaired.error().message});
        RETURN_IF_ERROR(store_.rollback());
      }
    }
    RETURN_IF_ERROR(store_.commit());
    return true;
  }
  const uint64_t before = findings_.size();
  ASSIGN_OR_RETURN(const bool more,
                   store_.kv().verify(after_, bytes_max, mode_ == Mode::kRepair, findings_));
  if (findings_.size() > before) RETURN_IF_ERROR(store_.commit());
  return more;
}

}  // namespace cascade
