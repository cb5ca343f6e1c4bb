// Conversations by name: which outputs are their turns, and who makes the next one.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "actors/scheduler/composition.h"
#include "actors/scheduler/disk/erasures.h"
#include "actors/scheduler/keep/chunk_pins.h"
#include "actors/scheduler/keep/chunk_removals.h"
#include "actors/scheduler/metadata_writer.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "base/clock.h"
#include "base/result.h"
#include "base/session.h"
#include "cache/chunk_registry.h"
#include "cache/session_registry.h"
#include "wire/messages.h"

namespace cascade {

// One thread.
class SessionDoor {
 public:
  // The references outlive this.
  SessionDoor(const Clock& clock, Outbox& outbox, MetadataWriter& metadata, ChunkRegistry& registry,
              Erasures& erasures, ChunkPins& pins, ChunkRemovals& removals);

  void on(const Client& client, const wire::RequestId& id, const wire::SessionListRequest& request);
  void on(const Client& client, const wire::RequestId& id, const wire::SessionGet& get);
  // Answers when the deletion is durable and the outputs and summaries that were to be deleted with
  // the session are gone from the disk.
  void on(const Client& client, const wire::RequestId& id, const wire::SessionDelete& request);

  // Takes the next turn of the session that the request names, if it names one, and has the output
  // retained, since it will be that turn. The turn ends with add_turn() or leave(). Errors: those
  // of SessionRegistry::enter().
  Status enter(Request& request);
  // Gives back the turn that the request has taken, if it has taken one.
  void leave(Request& request);
  // Makes the output the turn that the request has taken, if it has taken one, and stores the
  // session.
  void add_turn(Request& request, const std::string& output_id);
  // What the session of the request does when it is longer than its room; absent if no turn said
  // so, or the request has taken no turn.
  std::optional<OnOverflow> on_overflow(const Request& request) const;
  // Returns the outputs of the turns before the one that the request has taken. If the request may
  // leave out turns, those that the last turn left out are left out again. Error kNotFound, field
  // "session", if one of the other outputs is gone: without it, the answer would be to another
  // conversation. With kSkip that output is left out and named in `missing`.
  Result<Earlier> turns_before(const Request& request, OnMissing on_missing);

  // The number of the turn that the request's session is to begin with when it has no room any
  // more: idle time computes that history. Absent if that is not decided.
  std::optional<int64_t> planned(const Request& request) const;
  // The history was tokenized without its oldest turns: decides that the session is to begin there.
  // Sets what `chain.shorter` leaves out; nothing, if it is of no use. Precondition: it has one.
  void plan(Reprefill& chain, const wire::EncodeDone& done);

  // Takes over a session from before the start.
  void restore(Session&& session) { sessions_.restore(std::move(session)); }
  // Makes the holders of outputs and the turns of sessions agree. They can differ after a crash,
  // because an output is stored before the session that it is a turn of. If a session holds an
  // output that is not one of its turns, the tenant keeps the output. Outputs that were stored
  // before there were holders get holders. Precondition: all chunks and sessions from before the
  // start are known.
  void match_holders();
  // Stores the session of this name as it is now, or that there is none.
  void store(const StoredName& name);

 private:
  const Session* session_of(const Request& request) const;
  std::optional<wire::SessionOutput> end_turn(const std::string& tenant, const std::string& output,
                                              const wire::SessionDelete& request);

  const Clock& clock_;
  Outbox& outbox_;
  MetadataWriter& metadata_;
  ChunkRegistry& registry_;
  Erasures& erasures_;
  ChunkPins& pins_;
  ChunkRemovals& removals_;
  SessionRegistry sessions_;
  std::map<std::pair<std::string, std::string>, int64_t> planned_;  // by tenant and session
};

}  // namespace cascade
