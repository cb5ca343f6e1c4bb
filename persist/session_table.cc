// A row's checksum is over its key and values.
#include "persist/session_table.h"

#include <utility>

#include "persist/row_checksum.h"

namespace cascade {
namespace {

// The name that is stored: empty if the session has no choice of its own.
std::string choice_of(const Session& session) {
  return session.on_overflow ? std::string(to_string(*session.on_overflow)) : "";
}

// Rows that earlier programs wrote have a checksum of the first four values.
int64_t checksum(const Session& session) {
  RowChecksum sum;
  sum.add_all(session.tenant, session.id, session.created_us, session.last_used_us);
  if (session.on_overflow || session.left_out_turns) {
    sum.add_all(choice_of(session), session.left_out_turns.value_or(0));
  }
  return sum.value();
}

int64_t checksum(std::string_view tenant, std::string_view session, const SessionTurn& turn) {
  return RowChecksum().add_all(tenant, session, turn.number, turn.output_id).value();
}

int64_t checksum(const Policy& policy) {
  return RowChecksum().add_all(policy.tenant, policy.key, policy.value).value();
}

// Columns of kSessions. A choice that this program does not know is no choice: the checksum then
// differs, too.
Session read_session(const Query& query) {
  Session session = {.id = query.text(1),
                     .tenant = query.text(0),
                     .created_us = query.integer(2),
                     .last_used_us = query.integer(3),
                     .turns = {}};
  session.on_overflow = on_overflow_from_string(query.text(5));
  if (query.integer(6) != 0) session.left_out_turns = query.integer(6);
  return session;
}

constexpr char kLeftOut[] = "does not have its checksum: it is left out";
constexpr char kSessions[] =
    "SELECT tenant, id, created_us, last_used_us, checksum, on_overflow, left_out_turns "
    "FROM sessions ORDER BY tenant, id";
constexpr char kTurns[] =
    "SELECT turn, output_id, checksum FROM turns WHERE tenant=? AND session=? "
    "ORDER BY turn";
constexpr char kPolicies[] =
    "SELECT tenant, key, value, checksum FROM policies ORDER BY tenant, key";

}  // namespace

Status SessionTable::put_row(const Session& session) {
  ASSIGN_OR_RETURN(Query put, database_.query("INSERT INTO sessions VALUES (?,?,?,?,?,?,?) "
                                              "ON CONFLICT(tenant, id) DO UPDATE SET "
                                              "created_us=excluded.created_us, "
                                              "last_used_us=excluded.last_used_us, "
                                              "checksum=excluded.checksum, "
                                              "on_overflow=excluded.on_overflow, "
                                              "left_out_turns=excluded.left_out_turns"));
  return put
      .bind(session.tenant, session.id, session.created_us, session.last_used_us, checksum(session),
            choice_of(session), session.left_out_turns.value_or(0))
      .run();
}

Status SessionTable::put_turn_row(std::string_view tenant, std::string_view session,
                                  const SessionTurn& turn) {
  ASSIGN_OR_RETURN(Query put, database_.query("INSERT OR REPLACE INTO turns VALUES (?,?,?,?,?)"));
  return put.bind(tenant, session, turn.number, turn.output_id, checksum(tenant, session, turn))
      .run();
}

Status SessionTable::put(const Session& session) {
  return database_.change([&]() -> Status {
    RETURN_IF_ERROR(put_row(session));
    ASSIGN_OR_RETURN(Query drop, database_.query("DELETE FROM turns WHERE tenant=? AND session=?"));
    RETURN_IF_ERROR(drop.bind(session.tenant, session.id).run());
    for (const SessionTurn& turn : session.turns) {
      RETURN_IF_ERROR(put_turn_row(session.tenant, session.id, turn));
    }
    return {};
  });
}

Status SessionTable::remove(std::string_view tenant, std::string_view session) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query drop, database_.query("DELETE FROM sessions WHERE tenant=? AND id=?"));
    return drop.bind(tenant, session).run();
  });
}

Status SessionTable::read_sessions(std::vector<Session>& sessions, Findings& findings) {
  ASSIGN_OR_RETURN(Query query, database_.query(kSessions));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return {};
    Session session = read_session(query);
    if (query.integer(4) != checksum(session)) {
      findings.push_back({"session row", kLeftOut});
      continue;
    }
    sessions.push_back(std::move(session));
    RETURN_IF_ERROR(read_turns(sessions.back(), findings));
  }
}

Status SessionTable::read_turns(Session& session, Findings& findings) {
  ASSIGN_OR_RETURN(Query query, database_.query(kTurns));
  query.bind(session.tenant, session.id);
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return {};
    SessionTurn turn{query.integer(0), query.text(1)};
    if (query.integer(2) == checksum(session.tenant, session.id, turn)) {
      session.turns.push_back(std::move(turn));
    } else {
      findings.push_back({"turn row", kLeftOut});
    }
  }
}

Status SessionTable::read_policies(std::vector<Policy>& policies, Findings& findings) {
  ASSIGN_OR_RETURN(Query query, database_.query(kPolicies));
  while (true) {
    ASSIGN_OR_RETURN(const bool more, query.next());
    if (!more) return {};
    Policy policy{query.text(0), query.text(1), query.text(2)};
    if (query.integer(3) == checksum(policy)) {
      policies.push_back(std::move(policy));
    } else {
      findings.push_back({"policy row", kLeftOut});
    }
  }
}

Result<std::vector<Session>> SessionTable::load(Findings& findings) {
  std::vector<Session> sessions;
  RETURN_IF_ERROR(read_sessions(sessions, findings));
  return sessions;
}

Result<std::vector<Policy>> SessionTable::load_policies(Findings& findings) {
  std::vector<Policy> policies;
  RETURN_IF_ERROR(read_policies(policies, findings));
  return policies;
}

SessionTable::Salvaged SessionTable::salvage() {
  Salvaged salvaged;
  Findings ignored;  // it is known already that rows are lost
  (void)read_sessions(salvaged.sessions, ignored).ok();
  (void)read_policies(salvaged.policies, ignored).ok();
  return salvaged;
}

Status SessionTable::put_policy(const Policy& policy) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query put,
                     database_.query("INSERT OR REPLACE INTO policies VALUES (?,?,?,?)"));
    return put.bind(policy.tenant, policy.key, policy.value, checksum(policy)).run();
  });
}

Status SessionTable::remove_policy(std::string_view tenant, std::string_view key) {
  return database_.change([&]() -> Status {
    ASSIGN_OR_RETURN(Query drop, database_.query("DELETE FROM policies WHERE tenant=? AND key=?"));
    return drop.bind(tenant, key).run();
  });
}

Result<size_t> SessionTable::repair() {
  Findings findings;
  ASSIGN_OR_RETURN(const std::vector<Session> sessions, load(findings));
  ASSIGN_OR_RETURN(const std::vector<Policy> policies, load_policies(findings));
  if (findings.empty()) return size_t{0};
  const Status rewritten = database_.change([&]() -> Status {
    RETURN_IF_ERROR(database_.execute("DELETE FROM sessions; DELETE FROM policies;"));
    for (const Session& session : sessions) RETURN_IF_ERROR(put(session));
    for (const Policy& policy : policies) RETURN_IF_ERROR(put_policy(policy));
    return {};
  });
  if (!rewritten.ok()) return rewritten.error();
  return findings.size();
}

}  // namespace cascade
