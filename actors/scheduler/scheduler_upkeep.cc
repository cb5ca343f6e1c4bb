// Checks and backups: handed on to the store, one at a time, while everything else goes on.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"
#include "base/tenant.h"

namespace cascade {
namespace {

// A repair removed rows that were damaged, or may have.
bool concerns_rows(const wire::FsckReply& reply) {
  return std::ranges::any_of(reply.findings, [](const wire::FsckFinding& finding) {
    return !finding.where.starts_with("kv file ");
  });
}

}  // namespace

// The store's job; nullopt if the request was refused, and answered.
std::optional<uint64_t> SchedulerCore::begin_upkeep(const Client& client,
                                                    const wire::RequestId& id) {
  const auto refuse = [&](ErrorCode code, const char* field, const std::string& why) {
    outbox_.reply_error(client, id, {code, field, why});
    return std::nullopt;
  };
  if (client.tenant != kLocalTenant) {
    return refuse(ErrorCode::kConflict, "tenant",
                  "only the tenant \"" + std::string(kLocalTenant) +
                      "\" checks and backs up what is on disk: it is every tenant's");
  }
  if (!options_.keep_pages) {
    return refuse(ErrorCode::kUnsupported, "state_dir",
                  "this daemon keeps nothing on disk (--state-dir '')");
  }
  if (stopping_since_us_) return refuse(ErrorCode::kUnavailable, "", "the daemon is stopping");
  if (upkeep_) {
    return refuse(ErrorCode::kConflict, "fsck",
                  "a check or a backup is under way; try again when it is done");
  }
  upkeep_ = {jobs_.next(), client, id};
  return upkeep_->job;
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::FsckRequest&& request) {
  const auto job = begin_upkeep(client, id);
  if (job) outbox_.send(Actor::kStore, wire::StoreCheck{*job, std::move(request)});
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       wire::BackupRequest&& request) {
  const auto job = begin_upkeep(client, id);
  if (job) outbox_.send(Actor::kStore, wire::StoreBackup{*job, std::move(request)});
}

void SchedulerCore::end_upkeep(uint64_t job, wire::Message answer) {
  if (!upkeep_ || upkeep_->job != job) return;  // of an earlier incarnation of the store
  const Upkeep ended = *std::exchange(upkeep_, std::nullopt);
  outbox_.reply(ended.client, ended.id, std::move(answer));
}

void SchedulerCore::refuse_upkeep(const std::string& why) {
  if (!upkeep_) return;
  end_upkeep(upkeep_->job, wire::ErrorReply{{ErrorCode::kUnavailable, "", why}, 0});
}

void SchedulerCore::on(wire::StoreChecked&& checked) {
  if (checked.error) return end_upkeep(checked.job, wire::ErrorReply{*checked.error, 0});
  // Chunks whose rows it removed are all right here.
  if (checked.reply.left < checked.reply.found && concerns_rows(checked.reply)) {
    for (const ChunkEntry* entry : registry_.all()) {
      unsaved_.insert({entry->chunk.tenant, entry->chunk.id});
    }
  }
  end_upkeep(checked.job, std::move(checked.reply));
}

void SchedulerCore::on(wire::StoreBackedUp&& backed_up) {
  if (backed_up.error) return end_upkeep(backed_up.job, wire::ErrorReply{*backed_up.error, 0});
  end_upkeep(backed_up.job, backed_up.reply);
}

void SchedulerCore::on(const wire::PagesForgotten& forgotten) {
  for (const std::string& key : forgotten.keys) {
    const auto page = Digest::from_hex(key);
    if (!page) continue;
    if (disk_.contains(*page)) {
      if (!forgotten.deleted) ++disk_counters_.pages_bad;
      forget_stored(*page);
    }
    ChainIndex::Node* node = forgotten.deleted ? index_.find(*page) : nullptr;
    if (node != nullptr) {
      forget_use(node, {*page, ChainIndex::name_of(node).position, 1}, Removal::kDeleted);
    }
  }
  // The pages of pins are written again at once.
  if (forgotten.deleted) heal_text_pins();
}

}  // namespace cascade
