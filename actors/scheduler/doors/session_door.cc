// The turns so far come before what a request adds.
#include "actors/scheduler/doors/session_door.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "cache/holders.h"

namespace cascade {
namespace {

// How many holders each output of a reply names: a reply may have kTurnsMax outputs.
constexpr size_t kHoldersNamed = 4;

wire::SessionReply session_reply(const Session& session, ChunkRegistry& registry) {
  wire::SessionReply reply = {
      {session.id, session.created_us, session.last_used_us,
       static_cast<int64_t>(session.turns.size()), session.on_overflow, session.left_out_turns},
      session.turns,
      /*durable=*/true};
  if (session.turns.empty()) return reply;
  const auto newest = registry.find_own(session.tenant, session.turns.back().output_id);
  if (!newest.ok()) return reply;
  reply.session.retrieved = (*newest)->chunk.generation.retrieved;
  reply.session.summarised = (*newest)->chunk.generation.summarised;
  return reply;
}

// The summaries that the session holds.
std::vector<std::string> summaries_of(const std::string& tenant, const std::string& session,
                                      ChunkRegistry& registry) {
  std::vector<std::string> ids;
  registry.for_each(tenant, [&](ChunkEntry& entry) {
    if (entry.chunk.type != ChunkType::kSummary) return;
    const bool holds = std::ranges::any_of(entry.chunk.holders, [&](const Holder& holder) {
      return holder.kind == HolderKind::kSession && holder.label == session;
    });
    if (holds) ids.push_back(entry.chunk.id);
  });
  return ids;
}

// Gives holders to an output that was stored before there were holders: its sessions. The tenant's
// own retention stays only if the output was registered more often than there are sessions.
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

SessionDoor::SessionDoor(const Clock& clock, Outbox& outbox, MetadataWriter& metadata,
                         ChunkRegistry& registry, Erasures& erasures, ChunkPins& pins,
                         ChunkRemovals& removals)
    : clock_(clock),
      outbox_(outbox),
      metadata_(metadata),
      registry_(registry),
      erasures_(erasures),
      pins_(pins),
      removals_(removals) {}

Status SessionDoor::enter(Request& request) {
  if (request.params.session.empty()) return {};
  RETURN_IF_ERROR(sessions_.enter(request.client.tenant, request.params.session));
  request.session_taken = true;
  request.params.retain_output = true;
  return {};
}

void SessionDoor::leave(Request& request) {
  if (!std::exchange(request.session_taken, false)) return;
  sessions_.leave(request.client.tenant, request.params.session);
}

void SessionDoor::add_turn(Request& request, const std::string& output_id) {
  if (!std::exchange(request.session_taken, false)) return;
  std::optional<int64_t> left_out;
  if (leaves_out(request.on_overflow)) {
    left_out = request.session_begin(request.answers_left_out);
  }
  const std::string& tenant = request.client.tenant;
  const Session& session =
      sessions_.add_turn(tenant, request.params.session,
                         {output_id, request.params.on_overflow, left_out}, clock_.wall_us());
  const auto planned = planned_.find({tenant, request.params.session});
  const bool is_over = planned != planned_.end() &&
                       (!left_out || session.left_out_turns.value_or(0) >= planned->second);
  if (is_over) planned_.erase(planned);
  metadata_.put(session);
}

// The session whose turn the request has taken; nullptr if it has no turns yet.
const Session* SessionDoor::session_of(const Request& request) const {
  if (!request.session_taken) return nullptr;
  return sessions_.find(request.client.tenant, request.params.session);
}

std::optional<OnOverflow> SessionDoor::on_overflow(const Request& request) const {
  const Session* session = session_of(request);
  return session == nullptr ? std::nullopt : session->on_overflow;
}

std::optional<int64_t> SessionDoor::planned(const Request& request) const {
  if (!request.session_taken) return std::nullopt;
  const auto found = planned_.find({request.client.tenant, request.params.session});
  return found == planned_.end() ? std::nullopt : std::optional(found->second);
}

void SessionDoor::plan(Reprefill& chain, const wire::EncodeDone& done) {
  ShorterHistory& shorter = *chain.shorter;
  if (done.error) return;
  shorter.left_out.turns += done.left_out.value_or(LeftOut()).turns;
  if (shorter.left_out == LeftOut()) return;
  const auto turns = static_cast<size_t>(shorter.left_out.turns);
  const int64_t begin = turns < shorter.begins.size() ? shorter.begins[turns] : 0;
  const Session* session = sessions_.find(chain.tenant, shorter.session);
  // The session may have changed its mind, or be another one of the same name.
  const bool drops =
      session != nullptr && leaves_out(session->on_overflow.value_or(OnOverflow::kError));
  const bool is_turn = drops && std::ranges::any_of(session->turns, [&](const SessionTurn& turn) {
                         return turn.output_id == chain.chunk_id && turn.number >= begin;
                       });
  if (is_turn && begin > session->left_out_turns.value_or(0)) {
    planned_[{chain.tenant, shorter.session}] = begin;
  } else {
    shorter.left_out = {};
  }
}

void SessionDoor::on(const Client& client, const wire::RequestId& id,
                     const wire::SessionListRequest& request) {
  wire::SessionListReply answer;
  for (const Session* session : sessions_.list(client.tenant, static_cast<size_t>(request.limit))) {
    answer.sessions.push_back(session_reply(*session, registry_).session);
  }
  outbox_.reply(client, id, std::move(answer));
}

void SessionDoor::on(const Client& client, const wire::RequestId& id, const wire::SessionGet& get) {
  const Session* session = sessions_.find(client.tenant, get.id);
  if (session == nullptr) {
    return outbox_.reply_error(client, id,
                               not_found("id", "there is no session \"" + get.id + "\""));
  }
  outbox_.reply(client, id, session_reply(*session, registry_));
}

void SessionDoor::on(const Client& client, const wire::RequestId& id,
                     const wire::SessionDelete& request) {
  const Session* session = sessions_.find(client.tenant, request.id);
  const std::vector<std::string> summaries = summaries_of(client.tenant, request.id, registry_);
  if (request.outputs && session != nullptr) {
    std::vector<std::string> ids = summaries;
    for (const SessionTurn& turn : session->turns) ids.push_back(turn.output_id);
    for (const std::string& chunk : ids) {
      const auto found = registry_.find_own(client.tenant, chunk);
      if (!found.ok() || !only_pins_without((*found)->chunk, HolderKind::kSession, request.id)) {
        continue;
      }
      return outbox_.reply_error(client, id,
                                 Error{ErrorCode::kConflict, "outputs",
                                       "chunk \"" + chunk + "\" is pinned; unpin it first"});
    }
  }
  const Result<Session> removed = sessions_.remove(client.tenant, request.id);
  if (!removed.ok()) return outbox_.reply_error(client, id, removed.error());
  planned_.erase({client.tenant, request.id});
  wire::SessionReply answer = session_reply(*removed, registry_);
  // The last turn comes first, so that whatever goes on from a turn is removed before that turn.
  std::set<StoredName> outputs;
  for (auto turn = removed->turns.rbegin(); turn != removed->turns.rend(); ++turn) {
    if (!outputs.insert({client.tenant, turn->output_id}).second) continue;
    if (auto output = end_turn(client.tenant, turn->output_id, request)) {
      answer.outputs.push_back(*std::move(output));
    }
  }
  std::ranges::reverse(answer.outputs);
  for (const std::string& summary : summaries) {
    outputs.insert({client.tenant, summary});
    (void)end_turn(client.tenant, summary, request);
  }
  const StoredName name = {client.tenant, request.id, StoredKind::kSession};
  if (!erasures_.remove_after(name, outputs)) store(name);
  std::vector<StoredName> names = {name};
  names.insert(names.end(), outputs.begin(), outputs.end());
  removals_.reply_when_gone(client, id, std::move(outputs), std::move(names), std::move(answer));
}

// The deleted session no longer holds the output, or summary. With `request.outputs`, one that
// nobody else holds is removed; without, the tenant keeps it. nullopt: the output was gone already.
std::optional<wire::SessionOutput> SessionDoor::end_turn(const std::string& tenant,
                                                         const std::string& output,
                                                         const wire::SessionDelete& request) {
  const auto found = registry_.find_own(tenant, output);
  if (!found.ok()) return std::nullopt;
  ChunkEntry& entry = **found;
  const bool held = request.outputs ? give_up(entry.chunk, HolderKind::kSession, request.id)
                                    : keep_without_session(entry.chunk, request.id);
  if (held) pass_holders_time(entry.chunk, clock_.wall_us());  // the holder's pin may have ended
  if (entry.chunk.holders.empty()) {
    removals_.remove(entry, Removal::kDeleted);
    return wire::SessionOutput{output, /*gone=*/true};
  }
  if (held) {
    pins_.follow_holders(entry);
    metadata_.put(entry.chunk);
  }
  return wire::SessionOutput{output, /*gone=*/false, describe_holders(entry.chunk, kHoldersNamed)};
}

void SessionDoor::match_holders() {
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
    pins_.follow_holders(*entry);
    metadata_.put(chunk);
  }
}

Result<Earlier> SessionDoor::turns_before(const Request& request, OnMissing on_missing) {
  Earlier earlier = {{}, "session"};
  const std::string& tenant = request.client.tenant;
  const Session* session = session_of(request);
  if (session == nullptr) return earlier;
  const bool drops = leaves_out(request.on_overflow);
  const int64_t begin = drops ? session->left_out_turns.value_or(0) : 0;
  for (const SessionTurn& turn : session->turns) {
    if (turn.number < begin) {
      ++earlier.left_out.turns;
      earlier.outputs_left_out.push_back(turn.output_id);
      continue;
    }
    const auto found = registry_.find_own(tenant, turn.output_id);
    if (found.ok()) {
      earlier.left_out_from = (*found)->chunk.generation.left_out_from;
      if (drops) earlier.summarised = (*found)->chunk.generation.summarised;
      earlier.chunks.push_back({ChunkType::kOutput, turn.output_id, ""});
      earlier.turns.push_back(turn.number);
      continue;
    }
    const std::string lost = "turn " + std::to_string(turn.number + 1) + " of the session \"" +
                             session->id + "\" is gone: " + found.error().message;
    if (on_missing == OnMissing::kError) {
      return not_found("session", lost + "; \"on_missing\": \"skip\" goes on without it");
    }
    earlier.missing.push_back({turn.output_id, lost});
  }
  return earlier;
}

void SessionDoor::store(const StoredName& name) {
  if (const Session* session = sessions_.find(name.tenant, name.id)) {
    metadata_.put(*session);
  } else {
    metadata_.remove_session(name);
  }
}

}  // namespace cascade
