// The actor tree of the service.
#pragma once

#include <functional>

#include "base/result.h"
#include "daemon/options.h"

namespace cascade {

// Loads the model, starts the actors, serves until SIGINT, SIGTERM or SIGHUP, stops in good order:
// the socket's file is gone then. Blocks.
// `on_ready` is called once clients can connect (on another thread, again if the gateway had to be
// restarted). Returns the process's exit code: 0 after a signal,
// 1 if an actor failed too often. Errors: what kept it from starting; its field begins with "--" if
// that was an option.
Result<int> run_daemon(const DaemonOptions& options, const std::function<void()>& on_ready);

}  // namespace cascade
