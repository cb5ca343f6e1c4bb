// Memory and CPU time of processes.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string_view>

#include "base/json.h"

namespace cascade::serve {

struct ProcessMemory {
  int64_t resident_bytes = 0;   // RSS, which includes the pages of mapped files that are in memory
  int64_t anonymous_bytes = 0;  // the part that is the process's own, not a file's
};

// `text` is that of /proc/PID/status. Missing values are 0.
ProcessMemory parse_memory(std::string_view text);
// Zeros for a process that has ended.
ProcessMemory memory_of(pid_t pid);
// Adds `rss_mb` and `rss_anon_mb`.
void add_memory(OrderedJson& row, const ProcessMemory& memory);

// The CPU time of this process so far: all threads, user and system.
double own_cpu_s();

}  // namespace cascade::serve
