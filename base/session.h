// Conversations that clients keep under a name: plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/on_overflow.h"

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
  int64_t created_us = 0;                      // Unix time
  int64_t last_used_us = 0;                    // Unix time
  std::vector<SessionTurn> turns;              // by number
  std::optional<OnOverflow> on_overflow = {};  // of turns that name none; absent: error
  // Turns before this number are left out of its prompts; absent: none are.
  std::optional<int64_t> left_out_turns = {};
  bool operator==(const Session&) const = default;
};

}  // namespace cascade
