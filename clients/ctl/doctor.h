// cascadectl doctor: what is wrong with the daemon, its settings and its machine, and what to do.
#pragma once

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Needs no daemon; with one it asks for its status and for one token. The machine is looked at
// where the daemon is reached by ipc. Returns kExitFailed if there is a problem.
int run_doctor(Screen& screen, const Options& options);

}  // namespace cascade::ctl
