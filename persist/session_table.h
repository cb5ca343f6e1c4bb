// Sessions, their turns, and policies as rows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/session.h"
#include "persist/database.h"
#include "persist/finding.h"
#include "persist/setting.h"

namespace cascade {

// All changes are part of the database's group of changes. Errors as Database. One thread.
class SessionTable {
 public:
  explicit SessionTable(Database& database) : database_(database) {}

  // Adds or replaces the session, turns included.
  Status put(const Session& session);
  // Removes the session; success if there is none.
  Status remove(std::string_view tenant, std::string_view session);
  // All sessions, by tenant and id. Damaged rows are left out, and `findings` says so.
  Result<std::vector<Session>> load(Findings& findings);

  // Sets a policy.
  Status put_policy(const Policy& policy);
  // Removes the policy; success if there is none.
  Status remove_policy(std::string_view tenant, std::string_view key);
  // All policies, by tenant and key; findings as load().
  Result<std::vector<Policy>> load_policies(Findings& findings);

  // The intact rows of a damaged database, as far as they can be read.
  struct Salvaged {
    std::vector<Session> sessions;
    std::vector<Policy> policies;
  };
  Salvaged salvage();
  // Removes the rows that load() and load_policies() leave out. Returns how many.
  Result<size_t> repair();

 private:
  Status put_row(const Session& session);
  Status put_turn_row(std::string_view tenant, std::string_view session, const SessionTurn& turn);

  Status read_sessions(std::vector<Session>& sessions, Findings& findings);
  Status read_turns(Session& session, Findings& findings);
  Status read_policies(std::vector<Policy>& policies, Findings& findings);

  Database& database_;
};

}  // namespace cascade
