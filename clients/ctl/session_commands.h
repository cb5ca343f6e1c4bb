// The cascadectl session commands. Each returns the exit code.
#pragma once

#include <cstdint>
#include <string>

#include "clients/cpp/client.h"
#include "clients/ctl/options.h"
#include "clients/ctl/screen.h"

namespace cascade::ctl {

int run_session_list(client::Client& client, Screen& screen, int32_t limit);
// Shows the session with the outputs of its turns that still exist.
int run_session_show(client::Client& client, Screen& screen, const std::string& name);
int run_session_delete(client::Client& client, Screen& screen, const SessionOptions& options);

}  // namespace cascade::ctl
