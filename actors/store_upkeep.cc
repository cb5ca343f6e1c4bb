// Runs checks and backups step by step, and answers the requests for them.
#include "actors/store_upkeep.h"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

namespace cascade {
namespace {

constexpr uint64_t kStepBytes = uint64_t{16} << 20;
constexpr size_t kFindingsMax = 1000;  // the most in one answer

// Adds what the check has found. `of` comes before the places.
void add(const Fsck& fsck, const std::string& of, wire::FsckReply& reply) {
  for (const Fsck::Found& found : fsck.found()) {
    ++reply.found;
    if (!found.repaired) ++reply.left;
    if (reply.findings.size() == kFindingsMax) continue;
    reply.findings.push_back({of + found.finding.where, found.finding.what, found.repaired});
  }
  reply.pages += static_cast<int64_t>(fsck.pages());
  reply.bytes += static_cast<int64_t>(fsck.bytes());
}

wire::BackupReply copied(const KvCounters& counters) {
  return {static_cast<int64_t>(counters.pages_copied), static_cast<int64_t>(counters.bytes_copied),
          static_cast<int64_t>(counters.pages_not_copied)};
}

}  // namespace

Status StoreUpkeep::check_start(const std::string& state_dir) const {
  if (busy()) {
    return Error{ErrorCode::kConflict, "fsck",
                 "a check or a backup is under way; try again when it is done"};
  }
  if (state_dir.empty()) return {};
  const StateDirectory& ours = store_.directory();
  struct stat asked = {}, own = {};
  const bool same = ours.calls().path_status(state_dir, asked) == 0 &&
                    ours.calls().path_status(ours.path(), own) == 0 && asked.st_dev == own.st_dev &&
                    asked.st_ino == own.st_ino;
  if (same) return {};
  return Error{ErrorCode::kConflict, "state_dir",
               "the state directory of this daemon is " + ours.path()};
}

void StoreUpkeep::start(const wire::StoreCheck& check, const Send& send) {
  const Status status = check_start(check.request.state_dir);
  if (!status.ok()) return send(wire::StoreChecked{check.job, status.error(), {}});
  job_ = check.job;
  repairs_ = check.request.repair;
  checks_states_ = false;
  checked_ = {};
  fsck_.emplace(store_, repairs_);
}

void StoreUpkeep::start(const wire::StoreBackup& backup, const Send& send) {
  const auto refuse = [&](const Error& error) { send(wire::StoreBackedUp{backup.job, error, {}}); };
  const Status status = check_start(backup.request.state_dir);
  if (!status.ok()) return refuse(status.error());
  auto begun = Backup::begin(store_, backup.request.directory);
  if (!begun.ok()) return refuse(begun.error());
  job_ = backup.job;
  backup_ = *std::move(begun);
  before_ = copied(store_.kv().counters());
}

void StoreUpkeep::step(const Send& send) {
  if (fsck_) return step_check(send);
  step_backup(send);
}

void StoreUpkeep::step_check(const Send& send) {
  const auto more = fsck_->step(kStepBytes);
  if (more.ok() && *more) return;
  if (more.ok()) add(*fsck_, checks_states_ ? "states: " : "", checked_);
  if (more.ok() && !checks_states_ && states_ != nullptr) {
    checks_states_ = true;
    fsck_.emplace(*states_, repairs_);
    return;
  }
  for (const wire::FsckFinding& finding : checked_.findings) {
    spdlog::warn("{}: {}{}", finding.where, finding.what, finding.repaired ? " (repaired)" : "");
  }
  wire::StoreChecked answer;
  answer.job = job_;
  if (more.ok()) {
    answer.reply = std::move(checked_);
  } else {
    answer.error = more.error();
  }
  fsck_.reset();
  send(std::move(answer));
}

void StoreUpkeep::step_backup(const Send& send) {
  const auto more = backup_->step(kStepBytes);
  if (more.ok() && *more) return;
  wire::StoreBackedUp answer;
  answer.job = job_;
  if (more.ok()) {
    answer.reply = copied(store_.kv().counters());
    answer.reply.pages -= before_.pages;
    answer.reply.bytes -= before_.bytes;
    answer.reply.pages_bad -= before_.pages_bad;
  } else {
    answer.error = more.error();
  }
  backup_.reset();
  send(std::move(answer));
}

}  // namespace cascade
