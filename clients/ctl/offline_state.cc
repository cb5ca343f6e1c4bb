// Gives the same answers as the daemon, directly from persist.
#include "clients/ctl/offline_state.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "persist/backup.h"
#include "persist/chain_states.h"
#include "persist/fsck.h"
#include "persist/state_directory.h"

namespace cascade::ctl {
namespace {

constexpr uint64_t kStepBytes = uint64_t{64} << 20;
constexpr size_t kFindingsMax = 1000;  // as in the daemon's answers

void add(wire::FsckReply& reply, const Finding& finding, bool repaired) {
  ++reply.found;
  if (!repaired) ++reply.left;
  if (reply.findings.size() == kFindingsMax) return;
  reply.findings.push_back({finding.where, finding.what, repaired});
}

// Verifies everything in the store. `of` comes before the places of what is found.
Status check(Store& store, const std::string& of, bool repair, wire::FsckReply& reply) {
  Fsck fsck(store, repair);
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, fsck.step(kStepBytes));
  }
  for (const Fsck::Found& found : fsck.found()) {
    add(reply, {of + found.finding.where, found.finding.what}, found.repaired);
  }
  reply.pages += static_cast<int64_t>(fsck.pages());
  reply.bytes += static_cast<int64_t>(fsck.bytes());
  return {};
}

}  // namespace

Result<OfflineState> OfflineState::open(const std::string& path, bool rebuild) {
  FileCalls& calls = system_file_calls();
  RETURN_IF_ERROR(check_state_directory(calls, path));
  StoreOptions options;
  options.rebuild = rebuild;
  ASSIGN_OR_RETURN(std::unique_ptr<Store> store, Store::open(calls, path, options));
  return OfflineState(std::move(store));
}

bool OfflineState::is_in_use(const Error& error, const std::string& path) {
  return error.code == ErrorCode::kConflict && error.field == path;
}

Result<wire::FsckReply> OfflineState::fsck(bool repair) {
  wire::FsckReply reply;
  // The start of the store has already dealt with what it found.
  for (const Finding& finding : store_->findings()) add(reply, finding, /*repaired=*/true);
  RETURN_IF_ERROR(check(*store_, "", repair, reply));
  if (!ChainStates::exists(*store_)) return reply;
  ASSIGN_OR_RETURN(const auto states, ChainStates::open(*store_, {}));
  for (const Finding& finding : states->findings()) {
    add(reply, finding, /*repaired=*/true);
  }
  RETURN_IF_ERROR(check(states->store(), "states: ", repair, reply));
  return reply;
}

Result<wire::BackupReply> OfflineState::backup(const std::string& directory) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Backup> backup, Backup::begin(*store_, directory));
  for (bool more = true; more;) {
    ASSIGN_OR_RETURN(more, backup->step(kStepBytes));
  }
  const KvCounters& counters = store_->kv().counters();
  return wire::BackupReply{static_cast<int64_t>(counters.pages_copied),
                           static_cast<int64_t>(counters.bytes_copied),
                           static_cast<int64_t>(counters.pages_not_copied)};
}

std::string state_dir_of(const std::optional<std::string>& given) {
  const std::string path = given ? *given : default_state_dir();
  if (path.empty()) return path;
  std::error_code failed;
  const std::filesystem::path resolved = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : resolved.string();
}

}  // namespace cascade::ctl
