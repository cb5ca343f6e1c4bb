// The command line of the commands that look at the daemon: `stats`, `events`, `top`, `bench` and
// `doctor`.
#pragma once

#include <CLI/CLI.hpp>

#include "clients/ctl/options.h"

namespace cascade::ctl {

struct WatchCommands {
  CLI::App* events = nullptr;
  CLI::App* top = nullptr;
  CLI::App* stats = nullptr;
  CLI::App* bench = nullptr;
  CLI::App* doctor = nullptr;
};
// The commands fill in `watch` and `bench`.
WatchCommands add_watch_commands(CLI::App& app, WatchOptions& watch, BenchOptions& bench);

}  // namespace cascade::ctl
