// Parses these options with CLI11 like the others, and collects what CLI11 knows of all commands
// for the shells' completion.
#include "clients/ctl/offline_options.h"

namespace cascade::ctl {
namespace {

void add_words(const CLI::App& app, const std::string& path, std::vector<CommandWords>& all) {
  CommandWords words;
  words.path = path;
  words.help = app.get_description();
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      words.options.push_back(
          {"--" + name, option->get_description(), option->get_items_expected_max() > 0, {}});
    }
  }
  std::vector<const CLI::App*> below = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* command : below) words.commands.push_back(command->get_name());
  // Options of the program may also come after its commands.
  if (!all.empty()) {
    const auto& common = all.front().options;
    for (const CommandWords::Option& option : common) {
      if (option.name == "--help" || option.name == "--version") continue;
      words.options.push_back(option);
    }
  }
  all.push_back(std::move(words));
  for (const CLI::App* command : below) add_words(*command, path + ' ' + command->get_name(), all);
}

}  // namespace

OfflineCommands add_offline_commands(CLI::App& app, Options& options) {
  OfflineCommands commands;
  CLI::App* config = app.add_subcommand("config",
                                        "Check and show the settings of cascaded, "
                                        "cascaded.toml(5)");
  config->require_subcommand(1);
  commands.config_check = config->add_subcommand("check",
                                                 "Check the settings, and name the file and line "
                                                 "of each mistake");
  commands.config_show =
      config->add_subcommand("show", "Print each setting's value, and where it was set");
  commands.config_manual =
      config->add_subcommand("manual", "Print a file with every setting, explained");
  for (CLI::App* command : {commands.config_check, commands.config_show}) {
    command->add_option("--config", options.config.file,
                        "The file (default: $CASCADED_CONFIG, else the user's, else "
                        "/etc/cascaded/cascaded.toml)");
  }
  commands.config_manual->add_option("--model", options.config.model,
                                     "A folder of a model to set in it");
  commands.config_manual->add_flag("--page", options.config.page,
                                   "The manual page cascaded.toml(5) instead");
  commands.completion =
      app.add_subcommand("completion", "Print shell completions of cascadectl and cascaded");
  commands.completion->add_option("SHELL", options.completion.shell, "bash, zsh or fish")
      ->required();
  commands.completion->add_option("--program", options.completion.program, "cascadectl or cascaded")
      ->check(CLI::IsMember({"cascadectl", "cascaded"}))
      ->capture_default_str();
  for (CLI::App* command : {config, commands.config_check, commands.config_show,
                            commands.config_manual, commands.completion}) {
    command->fallthrough();
  }
  return commands;
}

std::optional<Options::Command> chosen_of(const OfflineCommands& commands) {
  using Command = Options::Command;
  if (commands.config_check->parsed()) return Command::kConfigCheck;
  if (commands.config_show->parsed()) return Command::kConfigShow;
  if (commands.config_manual->parsed()) return Command::kConfigManual;
  if (commands.completion->parsed()) return Command::kCompletion;
  return std::nullopt;
}

std::vector<CommandWords> words_of(const CLI::App& app) {
  std::vector<CommandWords> all;
  add_words(app, app.get_name(), all);
  return all;
}

}  // namespace cascade::ctl
