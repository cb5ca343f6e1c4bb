// Conversations by name: the turns so far come before what a request adds.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"
#include "cache/holders.h"

namespace cascade {
namespace {

// A reply may have kTurnsMax outputs: each of them names so many holders.
constexpr size_t kHoldersNamed = 4;

wire::SessionReply session_reply(const Session& session) {
  return {{session.id, session.created_us, session.last_used_us,
           static_cast<int64_t>(session.turns.size())},
          session.turns,
          /*durable=*/true};
}

// Gives an output from before there were holders to its sessions. The tenant's own retention stays
// only if it was registered more often than sessions did.
bool hold_turns(Chunk& chunk, const std::set<std::pair<std::string, std::string>>& sessions) {
  bool changed = false;
  for (const auto& [tenant, session] : sessions) {
    if (tenant != chunk.tenant) continue;
    Holder holder = {.kind = HolderKind::kSession, .label = session};
    holder.expires_us = chunk.expires_us;
    holder.priority = chunk.priority;
    holder.priority_until_us = chunk.priority_until_us;
    changed = add_holder(chunk, std::move(holder)).ok() || changed;
  }
  const bool only_theirs = chunk.registrations <= static_cast<int64_t>(sessions.size());
  if (changed && only_theirs) (void)give_up(chunk, HolderKind::kRetention, "");
  return changed;
}

}  // namespace

// ---- Sessions -----------------------------------------------------------------------------------

// Takes the next turn of the session that the request names, if it names one.
Status SchedulerCore::enter_session(Request& request) {
  if (request.params.session.empty()) return {};
  RETURN_IF_ERROR(sessions_.enter(request.client.tenant, request.params.session));
  request.session_taken = true;
  request.params.retain_output = true;
  return {};
}

void SchedulerCore::leave_session(Request& request) {
  if (!std::exchange(request.session_taken, false)) return;
  sessions_.leave(request.client.tenant, request.params.session);
}

// An answer that was cancelled is no turn: who asked did not want it.
void SchedulerCore::add_turn(Request& request, const std::string& output_id) {
  if (!std::exchange(request.session_taken, false)) return;
  metadata_.put(sessions_.add_turn(request.client.tenant, request.params.session, output_id,
                                   clock_.wall_us()));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionListRequest& request) {
  wire::SessionListReply answer;
  for (const Session* session : sessions_.list(client.tenant, static_cast<size_t>(request.limit))) {
    answer.sessions.push_back(session_reply(*session).session);
  }
  outbox_.reply(client, id, std::move(answer));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionGet& get) {
  const Session* session = sessions_.find(client.tenant, get.id);
  if (session == nullptr) {
    return outbox_.reply_error(client, id,
                               not_found("id", "there is no session \"" + get.id + "\""));
  }
  outbox_.reply(client, id, session_reply(*session));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionDelete& request) {
  const Session* session = sessions_.find(client.tenant, request.id);
  if (request.outputs && session != nullptr) {
    for (const SessionTurn& turn : session->turns) {
      const auto found = registry_.find_own(client.tenant, turn.output_id);
      if (!found.ok() || !only_pins_without((*found)->chunk, HolderKind::kSession, request.id)) {
        continue;
      }
      return outbox_.reply_error(
          client, id,
          Error{ErrorCode::kConflict, "outputs",
                "chunk \"" + turn.output_id + "\" is pinned; unpin it first"});
    }
  }
  const Result<Session> removed = sessions_.remove(client.tenant, request.id);
  if (!removed.ok()) return outbox_.reply_error(client, id, removed.error());
  wire::SessionReply answer = session_reply(*removed);
  // The last turn first: what goes on from a turn goes before it.
  std::set<StoredName> outputs;
  for (auto turn = removed->turns.rbegin(); turn != removed->turns.rend(); ++turn) {
    if (!outputs.insert({client.tenant, turn->output_id}).second) continue;
    if (auto output = end_turn(client.tenant, turn->output_id, request)) {
      answer.outputs.push_back(*std::move(output));
    }
  }
  std::ranges::reverse(answer.outputs);
  const StoredName name = {client.tenant, request.id, StoredKind::kSession};
  if (!erasures_.remove_after(name, outputs)) save_setting(name);
  std::vector<StoredName> names = {name};
  names.insert(names.end(), outputs.begin(), outputs.end());
  keep_.removals.reply_when_gone(client, id, std::move(outputs), std::move(names),
                                 std::move(answer));
}

// The session that is deleted holds the output no more. With `request.outputs` that is the end of
// an output that nobody else holds; else the tenant keeps it. nullopt: it was gone already.
std::optional<wire::SessionOutput> SchedulerCore::end_turn(const std::string& tenant,
                                                           const std::string& output,
                                                           const wire::SessionDelete& request) {
  const auto found = registry_.find_own(tenant, output);
  if (!found.ok()) return std::nullopt;
  ChunkEntry& entry = **found;
  const bool held = request.outputs ? give_up(entry.chunk, HolderKind::kSession, request.id)
                                    : keep_without_session(entry.chunk, request.id);
  if (held) pass_holders_time(entry.chunk, clock_.wall_us());  // a pin may have gone with it
  if (entry.chunk.holders.empty()) {
    keep_.removals.remove(entry, Removal::kDeleted);
    return wire::SessionOutput{output, /*gone=*/true};
  }
  if (held) {
    keep_.pins.follow_holders(entry);
    metadata_.put(entry.chunk);
  }
  return wire::SessionOutput{output, /*gone=*/false, describe_holders(entry.chunk, kHoldersNamed)};
}

// An output is stored before the session that it is a turn of, and outlives it in a crash: what
// holds it for a session that does not have the turn is a retention then. Outputs from before there
// were holders get theirs.
void SchedulerCore::match_turns_and_holders() {
  std::map<std::string, std::set<std::pair<std::string, std::string>>> turns;  // by output
  sessions_.for_each([&](const Session& session) {
    for (const SessionTurn& turn : session.turns) {
      turns[turn.output_id].insert({session.tenant, session.id});
    }
  });
  for (ChunkEntry* entry : registry_.all()) {
    Chunk& chunk = entry->chunk;
    if (chunk.type != ChunkType::kOutput) continue;
    std::vector<std::string> holding;
    for (const Holder& holder : chunk.holders) {
      if (holder.kind == HolderKind::kSession) holding.push_back(holder.label);
    }
    const auto of_chunk = turns.find(chunk.id);
    bool changed = false;
    for (const std::string& session : holding) {
      const bool is_turn =
          of_chunk != turns.end() && of_chunk->second.contains({chunk.tenant, session});
      if (!is_turn) changed = keep_without_session(chunk, session) || changed;
    }
    if (of_chunk != turns.end() && entry->holders_guessed) {
      changed = hold_turns(chunk, of_chunk->second) || changed;
    }
    if (!changed) continue;
    keep_.pins.follow_holders(*entry);
    metadata_.put(chunk);
  }
}

// ---- From and to the store ----------------------------------------------------------------------

void SchedulerCore::on(wire::StoredSettings&& stored) {
  for (Session& session : stored.sessions) sessions_.restore(std::move(session));
  for (const wire::StoredPolicy& policy : stored.policies) doors_.policy.restore(policy);
}

// Stores the session or policy as it is now, or that there is none.
void SchedulerCore::save_setting(const StoredName& name) {
  if (name.kind == StoredKind::kPolicy) return doors_.policy.store(name);
  if (const Session* session = sessions_.find(name.tenant, name.id)) {
    metadata_.put(*session);
  } else {
    metadata_.remove_session(name);
  }
}

}  // namespace cascade
