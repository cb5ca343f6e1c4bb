// Checks and backups of what is on disk. They are handed on to the store, one at a time, while
// everything else goes on.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "wire/messages.h"

namespace cascade {

// One thread. Each request is answered once, when the store has done it or with an error.
class UpkeepDoor {
 public:
  // `keeps_pages`: the daemon has a state directory. `rows_removed` is called when a repair removed
  // rows of chunks. The others outlive this.
  UpkeepDoor(Jobs& jobs, Outbox& outbox, bool keeps_pages, std::function<void()> rows_removed);

  void on(const Client& client, const wire::RequestId& id, wire::FsckRequest&& request);
  void on(const Client& client, const wire::RequestId& id, wire::BackupRequest&& request);
  // Answers of the store.
  void on(wire::StoreChecked&& checked);
  void on(wire::StoreBackedUp&& backed_up);
  // Refuses what is under way, and all that comes later.
  void stop();

 private:
  struct Asked {
    Client client;
    wire::RequestId id;
  };
  std::optional<uint64_t> begin(const Client& client, const wire::RequestId& id);
  void end(uint64_t job, wire::Message answer);
  void refuse_all(const char* why);

  Jobs& jobs_;
  Outbox& outbox_;
  const bool keeps_pages_;
  const std::function<void()> rows_removed_;
  bool stopping_ = false;
  PendingJobs<Asked> asked_;
};

}  // namespace cascade
