// The options of the commands that ask no daemon: config and completion.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <vector>

#include "clients/ctl/options.h"

namespace cascade::ctl {

struct OfflineCommands {
  CLI::App* config_check = nullptr;
  CLI::App* config_show = nullptr;
  CLI::App* config_manual = nullptr;
  CLI::App* completion = nullptr;
};

// Adds the commands to `app`. Their values are written to `options`, which must outlive `app`.
OfflineCommands add_offline_commands(CLI::App& app, Options& options);
// The command that was given; nullopt: none of these.
std::optional<Options::Command> chosen_of(const OfflineCommands& commands);

// `app` and the commands below it, with their options; `app` comes first.
std::vector<CommandWords> words_of(const CLI::App& app);

}  // namespace cascade::ctl
