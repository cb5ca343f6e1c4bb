// The sessions of all tenants: which outputs are the turns of which conversation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/session.h"

namespace cascade {

// A session begins with its first turn. One request at a time makes its next one. One thread.
class SessionRegistry {
 public:
  // Of each tenant, before metadata fills the memory.
  static constexpr size_t kSessionsMax = 10'000;
  // Of one session: as many outputs as a request may name, and a system prompt and contexts.
  static constexpr size_t kTurnsMax = 2'000;

  // A session from before the start.
  void restore(Session session);

  // Takes the session's next turn for a request; there need not be such a session. Ended by
  // add_turn() or leave(). Errors, all of field "session", after which it is not taken: kConflict
  // if another request has it; kResourceExhausted if there are too many sessions or turns.
  Status enter(const std::string& tenant, const std::string& id);
  void leave(const std::string& tenant, const std::string& id);

  // The output is the next turn of the session that enter() took. Returns the session as it is now,
  // valid until the next call.
  const Session& add_turn(const std::string& tenant, const std::string& id,
                          const std::string& output_id, int64_t now_us);

  // nullptr if there is none.
  const Session* find(const std::string& tenant, const std::string& id) const;
  // Errors, field "id": kNotFound; kConflict while a request has it.
  Result<Session> remove(const std::string& tenant, const std::string& id);
  // The tenant's sessions, the one that was used last first; at most `limit`.
  std::vector<const Session*> list(const std::string& tenant, size_t limit) const;
  // All sessions of all tenants, in any order.
  void for_each(const std::function<void(const Session&)>& visit) const;

 private:
  using Name = std::pair<std::string, std::string>;  // tenant, id

  size_t count(const std::string& tenant) const;

  std::map<Name, Session> sessions_;
  std::map<std::string, size_t> counts_;  // by tenant
  std::set<Name> taken_;
};

}  // namespace cascade
