// The daemon's log: lines on stderr, as people and journald read them.
#pragma once

#include <string>

namespace cascade {

// From now on spdlog writes to stderr, a line for each message: files and clients may have written
// part of it, so what a terminal would obey, and ends of lines, are shown instead (sanitized.h).
// `level`: "debug", "info", "warn" or "error". Once in a process, before its first message.
void set_up_log(const std::string& level);

}  // namespace cascade
