// A map, and beside it a set of the sessions that are taken, since such a session need not exist
// yet.
#include "cache/session_registry.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {

void SessionRegistry::restore(Session session) {
  Name name = {session.tenant, session.id};
  const auto [place, is_new] = sessions_.insert_or_assign(std::move(name), std::move(session));
  if (is_new) ++counts_[place->second.tenant];
}

size_t SessionRegistry::count(const std::string& tenant) const {
  const auto found = counts_.find(tenant);
  return found == counts_.end() ? 0 : found->second;
}

Status SessionRegistry::enter(const std::string& tenant, const std::string& id) {
  const Session* session = find(tenant, id);
  if (session == nullptr && count(tenant) >= kSessionsMax) {
    return resource_exhausted("session", "there are " + std::to_string(kSessionsMax) +
                                             " sessions, the limit; delete some");
  }
  if (session != nullptr && session->turns.size() >= kTurnsMax) {
    return resource_exhausted(
        "session", "has " + std::to_string(kTurnsMax) + " turns, the limit; begin another session");
  }
  if (taken_.emplace(tenant, id).second) return {};
  return Error{ErrorCode::kConflict, "session",
               "another request is making the next turn of \"" + id + "\""};
}

void SessionRegistry::leave(const std::string& tenant, const std::string& id) {
  taken_.erase({tenant, id});
}

const Session& SessionRegistry::add_turn(const std::string& tenant, const std::string& id,
                                         const Turn& turn, int64_t now_us) {
  CHECK(taken_.erase({tenant, id}) == 1);
  auto [place, is_new] = sessions_.try_emplace({tenant, id});
  Session& session = place->second;
  if (is_new) {
    ++counts_[tenant];
    session.id = id;
    session.tenant = tenant;
    session.created_us = now_us;
  }
  session.last_used_us = now_us;
  const int64_t number = session.turns.empty() ? 0 : session.turns.back().number + 1;
  session.turns.push_back({number, turn.output_id});
  if (turn.on_overflow) session.on_overflow = turn.on_overflow;
  const int64_t left_out =
      turn.left_out_turns ? std::max(session.left_out_turns.value_or(0), *turn.left_out_turns) : 0;
  session.left_out_turns = left_out > 0 ? std::optional(left_out) : std::nullopt;
  return session;
}

const Session* SessionRegistry::find(const std::string& tenant, const std::string& id) const {
  const auto found = sessions_.find({tenant, id});
  return found == sessions_.end() ? nullptr : &found->second;
}

Result<Session> SessionRegistry::remove(const std::string& tenant, const std::string& id) {
  const auto found = sessions_.find({tenant, id});
  if (found == sessions_.end()) return not_found("id", "there is no session \"" + id + "\"");
  if (taken_.contains(found->first)) {
    return Error{ErrorCode::kConflict, "id",
                 "a request is making the next turn of \"" + id + "\"; cancel it first"};
  }
  Session removed = std::move(found->second);
  sessions_.erase(found);
  --counts_[tenant];
  return removed;
}

std::vector<const Session*> SessionRegistry::list(const std::string& tenant, size_t limit) const {
  std::vector<const Session*> sessions;
  for (auto next = sessions_.lower_bound({tenant, ""});
       next != sessions_.end() && next->first.first == tenant; ++next) {
    sessions.push_back(&next->second);
  }
  const auto later = [](const Session* a, const Session* b) {
    return a->last_used_us != b->last_used_us ? a->last_used_us > b->last_used_us : a->id < b->id;
  };
  std::ranges::sort(sessions, later);
  sessions.resize(std::min(sessions.size(), limit));
  return sessions;
}

void SessionRegistry::for_each(const std::function<void(const Session&)>& visit) const {
  for (const auto& [name, session] : sessions_) visit(session);
}

}  // namespace cascade
