// Checks whether the system lets the daemon start its threads. libzmq ends the process when it
// cannot start a thread of its own, so this is found out before there is anything to lose.
#pragma once

#include "base/result.h"
#include "daemon/options.h"

namespace cascade {

// How many threads a daemon with these options has when it serves its default model, the calling
// one included.
int threads_needed(const DaemonOptions& options);

// Starts threads until there are `threads`, the calling one included, and ends them again. Other
// processes may take the room that was found, so later starts can fail all the same. Error
// kResourceExhausted, field "threads": how many there could be, and which limits hold.
Status check_thread_room(int threads);

}  // namespace cascade
