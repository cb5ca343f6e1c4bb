// Conversations by name: the turns so far come before what a request adds; and how long chunks live
// that nobody said it of.
#include <spdlog/spdlog.h>

#include <algorithm>
#include <charconv>

#include "actors/scheduler/scheduler_core.h"
#include "wire/request_rules.h"

namespace cascade {
namespace {

// Policies are rows of key and value (docs/data_files.md).
constexpr std::string_view kTtlKey = "ttl_ms.";

std::string ttl_key(ChunkType type) {
  return std::string(kTtlKey) + std::string(to_string(type));
}

std::optional<ChunkType> type_of_ttl_key(std::string_view key) {
  for (const ChunkType type :
       {ChunkType::kSystemPrompt, ChunkType::kContext, ChunkType::kOutput, ChunkType::kQuery}) {
    if (key == ttl_key(type)) return type;
  }
  return std::nullopt;
}

wire::SessionReply session_reply(const Session& session) {
  return {{session.id, session.created_us, session.last_used_us,
           static_cast<int64_t>(session.turns.size())},
          session.turns,
          /*durable=*/true};
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
  store_session(sessions_.add_turn(request.client.tenant, request.params.session, output_id,
                                   clock_.wall_us()));
}

void SchedulerCore::store_session(const Session& session) {
  const uint64_t job = next_job_++;
  saving_[job] = {{session.tenant, session.id, StoredKind::kSession}, /*whole=*/true};
  send(Actor::kStore, wire::StoreSession{job, session});
}

void SchedulerCore::store_session_removal(const std::string& tenant, const std::string& id) {
  const uint64_t job = next_job_++;
  saving_[job] = {{tenant, id, StoredKind::kSession}, /*whole=*/true};
  send(Actor::kStore, wire::StoreSessionDelete{job, tenant, id});
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionListRequest& request) {
  wire::SessionListReply answer;
  for (const Session* session : sessions_.list(client.tenant, static_cast<size_t>(request.limit))) {
    answer.sessions.push_back(session_reply(*session).session);
  }
  reply(client, id, std::move(answer));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionGet& get) {
  const Session* session = sessions_.find(client.tenant, get.id);
  if (session == nullptr) {
    return reply_error(client, id, not_found("id", "there is no session \"" + get.id + "\""));
  }
  reply(client, id, session_reply(*session));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::SessionDelete& request) {
  const Session* session = sessions_.find(client.tenant, request.id);
  std::vector<ChunkEntry*> outputs;
  if (request.outputs && session != nullptr) {
    for (const SessionTurn& turn : session->turns) {
      const auto found = registry_.find_own(client.tenant, turn.output_id);
      if (!found.ok()) continue;
      if ((*found)->chunk.pinned) {
        return reply_error(client, id,
                           Error{ErrorCode::kConflict, "outputs",
                                 "chunk \"" + turn.output_id + "\" is pinned; unpin it first"});
      }
      if (std::ranges::find(outputs, *found) == outputs.end()) outputs.push_back(*found);
    }
  }
  const Result<Session> removed = sessions_.remove(client.tenant, request.id);
  if (!removed.ok()) return reply_error(client, id, removed.error());
  // The last turn first: what goes on from a turn goes before it.
  for (auto output = outputs.rbegin(); output != outputs.rend(); ++output) {
    remove_chunk(**output, Removal::kDeleted);
  }
  store_session_removal(client.tenant, request.id);
  reply_when_stored(client, id, {{client.tenant, request.id, StoredKind::kSession}},
                    session_reply(*removed));
}

// ---- Expiry policies ----------------------------------------------------------------------------

// When a chunk that is registered now, and was given no time to live, expires.
int64_t SchedulerCore::default_expiry_us(const std::string& tenant, ChunkType type) const {
  const auto found = ttls_ms_.find({tenant, type});
  return found == ttls_ms_.end() ? 0 : clock_.wall_us() + found->second * 1000;
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id, const wire::PolicyGet&) {
  reply(client, id, policies_of(client.tenant));
}

void SchedulerCore::on(const Client& client, const wire::RequestId& id,
                       const wire::PolicySet& set) {
  if (set.ttl_ms > 0) {
    ttls_ms_[{client.tenant, set.type}] = set.ttl_ms;
  } else {
    ttls_ms_.erase({client.tenant, set.type});
  }
  store_policy(client.tenant, set.type);
  reply_when_stored(client, id, {{client.tenant, ttl_key(set.type), StoredKind::kPolicy}},
                    policies_of(client.tenant));
}

wire::PolicyReply SchedulerCore::policies_of(const std::string& tenant) const {
  wire::PolicyReply answer;
  for (const auto& [name, ttl_ms] : ttls_ms_) {
    if (name.first == tenant) answer.policies.push_back({name.second, ttl_ms});
  }
  return answer;
}

void SchedulerCore::store_policy(const std::string& tenant, ChunkType type) {
  const uint64_t job = next_job_++;
  const std::string key = ttl_key(type);
  const auto found = ttls_ms_.find({tenant, type});
  saving_[job] = {{tenant, key, StoredKind::kPolicy}, /*whole=*/true};
  send(Actor::kStore,
       wire::StorePolicy{job, tenant, key,
                         found == ttls_ms_.end() ? "" : std::to_string(found->second)});
}

// ---- From and to the store ----------------------------------------------------------------------

void SchedulerCore::on(wire::StoredSettings&& stored) {
  for (Session& session : stored.sessions) sessions_.restore(std::move(session));
  for (const wire::StoredPolicy& policy : stored.policies) {
    const auto type = type_of_ttl_key(policy.key);
    int64_t ttl_ms = 0;
    const char* end = policy.value.data() + policy.value.size();
    const auto read = std::from_chars(policy.value.data(), end, ttl_ms);
    const bool is_ttl = ttl_ms > 0 && ttl_ms <= wire::kDurationMsMax;
    const bool known = type && read.ec == std::errc() && read.ptr == end && is_ttl;
    if (known) {
      ttls_ms_[{policy.tenant, *type}] = ttl_ms;
    } else {
      spdlog::warn("the policy {} = \"{}\" is not known: it is left out", policy.key, policy.value);
    }
  }
}

// What of this kind the store could not keep, as it is now.
void SchedulerCore::save_setting_again(const StoredName& name) {
  if (name.kind == StoredKind::kPolicy) {
    if (const auto type = type_of_ttl_key(name.id)) store_policy(name.tenant, *type);
    return;
  }
  if (const Session* session = sessions_.find(name.tenant, name.id)) {
    store_session(*session);
  } else {
    store_session_removal(name.tenant, name.id);
  }
}

}  // namespace cascade
