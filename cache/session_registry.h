// The sessions of all tenants: which outputs are the turns of which conversation.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "base/session.h"

namespace cascade {

// A session begins with its first turn. Only one request at a time may make the session's next
// turn. One thread.
class SessionRegistry {
 public:
  // The largest number of sessions of one tenant, so that metadata does not fill the memory.
  static constexpr size_t kSessionsMax = 10'000;
  // The largest number of turns of one session. A request may name that many outputs, and still has
  // room for a system prompt and contexts.
  static constexpr size_t kTurnsMax = 2'000;

  // Adds a session from before the start of the daemon.
  void restore(Session session);

  // Takes the session's next turn for a request; the session need not exist yet. add_turn() or
  // leave() ends this. Errors, all of field "session", after which the turn is not taken: kConflict
  // if another request has it; kResourceExhausted if there are too many sessions or turns.
  Status enter(const std::string& tenant, const std::string& id);
  void leave(const std::string& tenant, const std::string& id);

  // What a turn changes in its session.
  struct Turn {
    std::string output_id;
    std::optional<OnOverflow> on_overflow = {};  // absent: the session's stays
    // Its prompt left out the turns before this number, besides those that the session leaves out
    // already; so will later prompts. Absent: prompts are to have all turns again.
    std::optional<int64_t> left_out_turns = {};
  };
  // Makes the output the next turn of the session that enter() took. Returns the session as it is
  // now, valid until the next call.
  const Session& add_turn(const std::string& tenant, const std::string& id, const Turn& turn,
                          int64_t now_us);

  // The session; nullptr if there is none.
  const Session* find(const std::string& tenant, const std::string& id) const;
  // Errors, field "id": kNotFound; kConflict while a request has the session's next turn.
  Result<Session> remove(const std::string& tenant, const std::string& id);
  // At most `limit` of the tenant's sessions, the most recently used first.
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
