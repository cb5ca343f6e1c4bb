// The command line of `events` and `top`.
#pragma once

#include <CLI/CLI.hpp>

#include "clients/ctl/options.h"

namespace cascade::ctl {

struct WatchCommands {
  CLI::App* events = nullptr;
  CLI::App* top = nullptr;
};
// They fill in `options`.
WatchCommands add_watch_commands(CLI::App& app, WatchOptions& options);

}  // namespace cascade::ctl
