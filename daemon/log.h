// The daemon's log: lines on stderr, for people and journald.
#pragma once

#include <string>

namespace cascade {

// From now on spdlog writes to stderr, one line per message. Files and clients may have written
// part of a message, so line ends, and everything that a terminal would obey, are shown instead
// (sanitized.h). `level`: "debug", "info", "warn" or "error". Call it once in a process, before its
// first message.
void set_up_log(const std::string& level);

}  // namespace cascade
