// cascadectl events and cascadectl top. Each returns the exit code: 0 also after Ctrl-C.
#pragma once

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// One event a line. When events were lost for good a line says so.
int run_events(client::Client& client, Screen& screen, const WatchOptions& options);
// On a terminal a page that is drawn again and again; else one after the other.
int run_top(client::Client& client, Screen& screen, const WatchOptions& options);

}  // namespace cascade::ctl
