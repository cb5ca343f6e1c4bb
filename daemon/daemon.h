// The actor tree of the service.
#pragma once

#include <functional>

#include "base/result.h"
#include "daemon/inherited_sockets.h"
#include "daemon/options.h"
#include "daemon/service_manager.h"

namespace cascade {

// The surroundings of the process, besides its options, when it was started.
struct Surroundings {
  ServiceManager& manager;
  InheritedSockets sockets;
  // Reads the settings again, as at the start; empty: SIGHUP stops the service.
  std::function<ParsedOptions()> read_again;
};

// Opens the doors, loads the model, starts the actors, serves until SIGINT or SIGTERM, and stops in
// good order, which removes the socket's file. During the load, clients are told that the model is
// being loaded; a signal during the load ends the process, with 0. For SIGHUP see `around`. Blocks.
// `on_ready` is called once clients can connect (on another thread, and again if the gateway had to
// be restarted). Returns the process's exit code: 0 after a signal, 1 if an actor failed too often.
// Errors: the reason why it could not start; the field begins with "--" if the reason was an
// option.
Result<int> run_daemon(const ParsedOptions& parsed, Surroundings& around,
                       const std::function<void()>& on_ready);

}  // namespace cascade
