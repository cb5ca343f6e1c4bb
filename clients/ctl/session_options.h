// The command line of the session and policy commands.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "clients/ctl/options.h"

namespace cascade::ctl {

// The subcommands of `session` and `policy`; they fill in `options`.
struct SessionCommands {
  CLI::App* list = nullptr;
  CLI::App* show = nullptr;
  CLI::App* remove = nullptr;
  CLI::App* policy_list = nullptr;
  CLI::App* policy_set = nullptr;
};
SessionCommands add_session_commands(CLI::App& session, CLI::App& policy, Options& options);

// The subcommand that was given, if any.
std::optional<Options::Command> chosen_of(const SessionCommands& commands);

// Adds generate --session NAME.
CLI::Option* add_session_option(CLI::App& command, std::string& session);

}  // namespace cascade::ctl
