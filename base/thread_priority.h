// The priority of threads that nobody waits for.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

namespace cascade {

// Lowers the priority of the calling thread: others get nine times as much of a core that they
// share with it (Linux's weights, 1024 and 110). Best effort; the thread cannot take it back.
inline void lower_thread_priority() {
  constexpr int kNiceness = 10;  // out of 19
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNiceness);
}

}  // namespace cascade
