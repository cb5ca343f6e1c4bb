// One job of the store at a time.
#include "actors/scheduler/doors/upkeep_door.h"

#include <algorithm>

#include "base/tenant.h"

namespace cascade {
namespace {

// Whether a repair removed, or may have removed, rows that were damaged.
bool concerns_rows(const wire::FsckReply& reply) {
  return std::ranges::any_of(reply.findings, [](const wire::FsckFinding& finding) {
    return !finding.where.starts_with("kv file ");
  });
}

}  // namespace

UpkeepDoor::UpkeepDoor(Jobs& jobs, Outbox& outbox, bool keeps_pages,
                       std::function<void()> rows_removed)
    : jobs_(jobs),
      outbox_(outbox),
      keeps_pages_(keeps_pages),
      rows_removed_(std::move(rows_removed)),
      asked_(jobs, {.actor = Actor::kStore, .is_long = true}, [this](auto&& lost) {
        for (const auto& [job, asked] : lost) {
          outbox_.reply_error(asked.client, asked.id,
                              {ErrorCode::kUnavailable, "", "the store was restarted; try again"});
        }
      }) {}

// Returns the number of the store's job; nullopt if the request was refused, and so answered.
std::optional<uint64_t> UpkeepDoor::begin(const Client& client, const wire::RequestId& id) {
  const auto refuse = [&](ErrorCode code, const char* field, const std::string& why) {
    outbox_.reply_error(client, id, {code, field, why});
    return std::nullopt;
  };
  if (client.tenant != kLocalTenant) {
    return refuse(ErrorCode::kConflict, "tenant",
                  "only the tenant \"" + std::string(kLocalTenant) +
                      "\" may check and back up the disk: it holds the data of all tenants");
  }
  if (!keeps_pages_) {
    return refuse(ErrorCode::kUnsupported, "state_dir",
                  "this daemon keeps nothing on disk (--state-dir '')");
  }
  if (stopping_) return refuse(ErrorCode::kUnavailable, "", "the daemon is stopping");
  if (!asked_.empty()) {
    return refuse(ErrorCode::kConflict, "fsck",
                  "a check or a backup is under way; try again when it is done");
  }
  const uint64_t job = jobs_.next();
  asked_.put(job, {client, id});
  return job;
}

void UpkeepDoor::on(const Client& client, const wire::RequestId& id, wire::FsckRequest&& request) {
  const auto job = begin(client, id);
  if (job) outbox_.send(Actor::kStore, wire::StoreCheck{*job, std::move(request)});
}

void UpkeepDoor::on(const Client& client, const wire::RequestId& id,
                    wire::BackupRequest&& request) {
  const auto job = begin(client, id);
  if (job) outbox_.send(Actor::kStore, wire::StoreBackup{*job, std::move(request)});
}

void UpkeepDoor::end(uint64_t job, wire::Message answer) {
  const std::optional<Asked> ended = asked_.take(job);
  if (!ended) return;  // of an earlier incarnation of the store
  outbox_.reply(ended->client, ended->id, std::move(answer));
}

void UpkeepDoor::stop() {
  stopping_ = true;
  refuse_all("the daemon is stopping");
}

void UpkeepDoor::refuse_all(const char* why) {
  while (!asked_.empty()) {
    end(asked_.all().begin()->first, wire::ErrorReply{{ErrorCode::kUnavailable, "", why}, 0});
  }
}

void UpkeepDoor::on(wire::StoreChecked&& checked) {
  if (checked.error) return end(checked.job, wire::ErrorReply{*checked.error, 0});
  if (checked.reply.left < checked.reply.found && concerns_rows(checked.reply)) rows_removed_();
  end(checked.job, std::move(checked.reply));
}

void UpkeepDoor::on(wire::StoreBackedUp&& backed_up) {
  if (backed_up.error) return end(backed_up.job, wire::ErrorReply{*backed_up.error, 0});
  end(backed_up.job, backed_up.reply);
}

}  // namespace cascade
