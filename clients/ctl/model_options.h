// The command line of the model commands.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>

#include "clients/ctl/options.h"

namespace cascade::ctl {

// The subcommands of `model`; they fill in `options`.
struct ModelCommands {
  CLI::App* list = nullptr;
  CLI::App* load = nullptr;
  CLI::App* unload = nullptr;
};
ModelCommands add_model_commands(CLI::App& model, ModelOptions& options);

// The subcommand that was given, if any.
std::optional<Options::Command> chosen_of(const ModelCommands& commands);

// The value is a name that a model can have; slashes at its end are removed.
CLI::Validator model_name();

}  // namespace cascade::ctl
