// Sessions and their turns for people. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/ctl/chunk_table.h"
#include "clients/ctl/style.h"
#include "wire/messages.h"

namespace cascade::ctl {

// A turn of a session, with its output if that still exists.
struct ShownTurn {
  SessionTurn turn;
  std::optional<Chunk> output;
};

// "Name  Turns  Created  Last used".
std::string render_sessions(const std::vector<wire::SessionInfo>& sessions, const Style& style);

// The facts about the session, and one line for each turn, numbered from 1.
std::string render_session(const wire::SessionInfo& session, const std::vector<ShownTurn>& turns,
                           Ids ids, const Style& style);

}  // namespace cascade::ctl
