// The actor tree of the service.
#pragma once

#include <functional>

#include "base/result.h"
#include "daemon/inherited_sockets.h"
#include "daemon/options.h"
#include "daemon/service_manager.h"

namespace cascade {

// What the process was started with besides its options.
struct Surroundings {
  ServiceManager& manager;
  InheritedSockets sockets;
  // Reads the settings again, as at the start; empty: SIGHUP stops the service.
  std::function<ParsedOptions()> read_again;
};

// Opens the doors, loads the model, starts the actors, serves until SIGINT or SIGTERM, stops in
// good order: the socket's file is gone then. Clients that come while the model is loaded are told
// so. A signal that comes meanwhile ends the process, with 0. SIGHUP: as `around` says. Blocks.
// `on_ready` is called once clients can connect (on another thread, again if the gateway had to be
// restarted). Returns the process's exit code: 0 after a signal,
// 1 if an actor failed too often. Errors: what kept it from starting; its field begins with "--" if
// that was an option.
Result<int> run_daemon(const ParsedOptions& parsed, Surroundings& around,
                       const std::function<void()>& on_ready);

}  // namespace cascade
