// cascadectl events and cascadectl top. Each returns the exit code: 0 also after Ctrl-C.
#pragma once

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Prints one event per line. If events were lost for good, a line says so.
int run_events(client::Client& client, Screen& screen, const WatchOptions& options);
// On a terminal, draws one page again and again; elsewhere, prints one page after another.
int run_top(client::Client& client, Screen& screen, const WatchOptions& options);

}  // namespace cascade::ctl
