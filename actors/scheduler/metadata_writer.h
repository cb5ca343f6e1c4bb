// Sends every change that outlives the process to the store. Whoever asked for a change is answered
// when it is durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduler/jobs.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/store_work.h"
#include "base/chunk.h"
#include "base/clock.h"
#include "cache/session_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread. A change that the store cannot keep is not lost: it is sent again until it is kept.
class MetadataWriter {
 public:
  // Sends the chunk, session or policy again as it is now, or its removal if it does not exist any
  // more.
  using SendAgain = std::function<void(const StoredName&)>;
  // The store has answered the removal of a chunk's row.
  using RowRemoved = std::function<void(const StoredName&, const std::optional<Error>&)>;

  // `model` is the root key of the chains. The first three outlive this.
  MetadataWriter(const Clock& clock, Jobs& jobs, Outbox& outbox, std::string model,
                 SendAgain send_again, RowRemoved row_removed);

  void put(const Chunk& chunk);
  // Counts a use; everything else stays as it is stored.
  void use(const Chunk& chunk);
  void remove_chunk(const StoredName& name);
  // Stores the chain that the chunk's K and V are computed from; the chunk's own tokens come after
  // its first `begin_tokens`. The K and V, in the mode `attention`, are `pending` until they are on
  // disk. With an empty chain nothing is pending any more, and the mode does not matter.
  void put_chain(const StoredName& chunk, std::span<const int32_t> chain, size_t begin_tokens,
                 bool pending, const AttentionMode& attention);
  void put(const Session& session);
  void remove_session(const StoredName& name);
  // An empty value: there is no such policy.
  void put_policy(const StoredName& name, std::string value);

  // Sends `message`, the answer to a change of `names`, when all changes so far are durable or have
  // failed to become so.
  void reply(const Client& client, const wire::RequestId& id, std::vector<StoredName> names,
             wire::Message message);
  // False: it is the answer to somebody else's job.
  bool on(const wire::StoreAck& ack);

  // The store has lost what has this name: it will be sent again.
  void note_unsaved(const StoredName& name) { unsaved_.insert(name); }
  // The store has failed at a job that is not from here.
  void note_failure();
  // Whether enough time has passed since the store failed.
  bool may_retry() const;
  // Sends again what is not durable, if nothing is under way.
  void retry();
  // The store's last error, until all changes are durable; and the number of changes that are not.
  const std::optional<Error>& error() const { return error_; }
  size_t unsaved() const { return unsaved_.size(); }

 private:
  struct Saving {
    StoredName name;
    bool is_whole;            // stores all of the named thing, or removes it
    bool is_removal = false;  // of a chunk
  };
  struct Waiting {
    uint64_t job;                   // the last job before this reply
    std::vector<StoredName> names;  // that have changed
    Client client;
    wire::RequestId id;
    wire::Message message;
  };
  uint64_t begin(Saving&& saving);
  uint64_t last_job() const;
  void send_unsaved();
  void lose(const PendingJobs<Saving>::All& lost);
  void flush();

  const Clock& clock_;
  Jobs& jobs_;
  Outbox& outbox_;
  const std::string model_;
  const SendAgain send_again_;
  const RowRemoved row_removed_;
  PendingJobs<Saving> saving_;
  std::set<StoredName> unsaved_;  // names whose latest changes the store could not keep
  std::deque<Waiting> waiting_;   // in the order of their jobs
  std::optional<Error> error_;
  int64_t failed_us_ = 0;  // when the store failed last
};

}  // namespace cascade
