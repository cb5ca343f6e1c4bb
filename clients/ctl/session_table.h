// Sessions and their turns for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/style.h"
#include "wire/messages.h"

namespace cascade::ctl {

// A turn of a session, and its output unless that is gone.
struct ShownTurn {
  SessionTurn turn;
  std::optional<Chunk> output;
};

// "Name  Turns  Created  Last used".
std::string render_sessions(const std::vector<wire::SessionInfo>& sessions, const Style& style);

// What is said of the session, and a line for each turn, numbered from 1.
std::string render_session(const wire::SessionInfo& session, const std::vector<ShownTurn>& turns,
                           Ids ids, const Style& style);

}  // namespace cascade::ctl
