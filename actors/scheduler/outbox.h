// All that the scheduler says: to the actors that work for it, to clients, and to those who listen
// to a tenant's events.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/actor.h"
#include "actors/scheduler/client.h"
#include "actors/scheduler/event_log.h"
#include "actors/scheduler/mutation_log.h"
#include "actors/scheduler/request.h"
#include "base/chunk.h"
#include "base/clock.h"
#include "base/result.h"
#include "wire/frames.h"

namespace cascade {

struct Outgoing {
  Actor to;       // kGateway: the door of `client`, whichever it is
  Client client;  // kGateway: the client that the door gives it to
  wire::Envelope envelope;
};

// One thread. Messages leave in the order in which they were given.
class Outbox {
 public:
  // Keeps `events_max` events of each tenant. `random` gives 64 bits a call, for boot ids. `clock`
  // outlives this.
  Outbox(const Clock& clock, size_t events_max, std::function<uint64_t()> random);

  // Gives the actor a job. The message waits until the actor has connected.
  void send(Actor to, wire::Message message);
  // Answers the client's request, and every other client that has sent the same change again.
  void reply(const Client& client, const wire::RequestId& id, wire::Message message);
  // Answers the request, unless its client is gone.
  void reply(const Request& request, wire::Message message);
  void reply_error(const Client& client, const wire::RequestId& id, Error error,
                   int64_t retry_after_ms = 0);
  // Whether the client repeats a change that is under way or has been answered. The client gets the
  // answer to that change.
  bool repeats(const Client& client, const wire::RequestId& id, const wire::Message& message);

  // Numbers the event, sends it to the tenant's gateway if that is connected, and keeps it.
  void tell(const std::string& tenant, wire::EventNotice event);
  void tell_of(const Chunk& chunk, EventKind kind);
  void tell_of(const Request& request, EventKind kind, std::string reason = {});
  wire::EventsReply events(const std::string& tenant, const wire::EventsRequest& request) const;

  // Notes that the actor has connected (if it is a door, as the door of `tenant`), and sends the
  // messages that waited for it. True if it had connected before, and so has been restarted.
  bool connect(Actor actor, const std::string& tenant);
  void note_restart(std::string name) { actors_restarted_.push_back(std::move(name)); }
  const std::vector<std::string>& actors_restarted() const { return actors_restarted_; }
  // Changes whenever answers to earlier requests may have been lost, so that clients notice.
  const std::string& boot_id() const { return boot_id_; }
  void renew_boot_id();

  std::vector<Outgoing> take() { return std::exchange(outgoing_, {}); }

 private:
  const Clock& clock_;
  std::function<uint64_t()> random_;
  EventLog events_;
  MutationLog mutations_;
  std::string boot_id_;
  std::set<std::pair<Actor, std::string>> connected_;  // doors with their tenant
  std::vector<std::string> actors_restarted_;          // names, in order
  std::vector<Outgoing> outgoing_;
  std::vector<Outgoing> held_;  // for actors that have not connected yet
};

}  // namespace cascade
