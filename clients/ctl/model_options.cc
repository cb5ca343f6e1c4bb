// Adds commands that take models by name.
#include "clients/ctl/model_options.h"

#include "base/model_name.h"
#include "clients/ctl/chunk_options.h"
#include "clients/ctl/model_place.h"

namespace cascade::ctl {

CLI::Validator model_name() {
  const auto check = [](std::string& given) {
    const std::string name = without_end_slashes(given);
    if (!is_model_name(name)) return std::string(kModelNameRule);
    given = name;
    return std::string();
  };
  return CLI::Validator(check, "");
}

namespace {

// The value is a model's name, or a file or folder of the daemon's models.
CLI::Validator model_place() {
  const auto check = [](std::string& given) {
    given = without_end_slashes(given);
    if (is_model_file(given) || is_model_name(given)) return std::string();
    return std::string(kModelNameRule);
  };
  return CLI::Validator(check, "");
}

}  // namespace

ModelCommands add_model_commands(CLI::App& model, ModelOptions& options) {
  ModelCommands commands;
  model.require_subcommand(1);
  commands.list = model.add_subcommand("list", "List the models, and show which are loaded");
  commands.load =
      model.add_subcommand("load", "Load a model; a request that names a model also loads it");
  commands.load->add_flag("--estimate", options.estimate, "Only say how much memory it would take");
  commands.unload = model.add_subcommand("unload", "Unload a model; its chunks stay on disk");
  for (CLI::App* command : {commands.load, commands.unload}) {
    command->add_option("NAME", options.name, "The model's name, or its file or folder")
        ->check(text())
        ->transform(model_place())
        ->required();
  }
  for (CLI::App* command : model.get_subcommands({})) command->fallthrough();
  return commands;
}

std::optional<Options::Command> chosen_of(const ModelCommands& commands) {
  using Command = Options::Command;
  if (commands.list->parsed()) return Command::kModelList;
  if (commands.load->parsed()) return Command::kModelLoad;
  if (commands.unload->parsed()) return Command::kModelUnload;
  return std::nullopt;
}

}  // namespace cascade::ctl
