// Conversations that clients keep under a name: plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace cascade {

// One turn of a session.
struct SessionTurn {
  int64_t number = 0;     // from 0
  std::string output_id;  // the chunk of the turn's answer; that chunk may no longer exist
  bool operator==(const SessionTurn&) const = default;
};

// Keyed by (tenant, id).
struct Session {
  std::string id;  // the name that the owner gave the session
  std::string tenant;
  int64_t created_us = 0;          // Unix time
  int64_t last_used_us = 0;        // Unix time
  std::vector<SessionTurn> turns;  // by number
  bool operator==(const Session&) const = default;
};

}  // namespace cascade
