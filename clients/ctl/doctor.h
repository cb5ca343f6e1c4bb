// cascadectl doctor: what is wrong with the daemon, its settings and its machine, and what to do.
#pragma once

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

// Needs no daemon; if one answers, it is asked for its status and for one token. Looks at the
// machine only if the endpoint is ipc. Returns kExitFailed if there is a problem.
int run_doctor(Screen& screen, const Options& options);

}  // namespace cascade::ctl
