// CLI11 knows what it did not understand; the names of all commands and options tell what was
// meant.
#include "clients/ctl/command_line_error.h"

#include <algorithm>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/suggestion.h"
#include "clients/ctl/run.h"
#include "clients/ctl/screen.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

const CLI::App& innermost_of(const CLI::App& app) {
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) innermost = innermost->get_subcommands().front();
  return *innermost;
}

// "cascadectl chunk put"
std::string path_of(const CLI::App& app) {
  const std::string before = app.get_parent() == nullptr ? "" : path_of(*app.get_parent()) + " ";
  return before + app.get_name();
}

std::vector<std::string> commands_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

void add_flags(const CLI::App& app, std::vector<std::string>& flags) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
}

// The flags that may come after the command: its own, and those of the commands around it.
std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> flags;
  for (const CLI::App* app = &command; app != nullptr; app = app->get_parent()) {
    add_flags(*app, flags);
  }
  return flags;
}

// The command below `app` that has the flag.
const CLI::App* owner_of(const CLI::App& app, const std::string& flag) {
  for (const CLI::App* command : app.get_subcommands({})) {
    std::vector<std::string> flags;
    add_flags(*command, flags);
    if (std::ranges::find(flags, flag) != flags.end()) return command;
    if (const CLI::App* below = owner_of(*command, flag)) return below;
  }
  return nullptr;
}

bool is_flag(const std::string& word) {
  return word.size() > 1 && word.front() == '-';
}

// The first flag that nobody knows; without one, the first unknown word.
std::optional<std::string> unknown_word(const CLI::App& app) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const auto flag = std::ranges::find_if(unknown, is_flag);
  if (flag != unknown.end()) return flag->substr(0, flag->find('='));
  if (unknown.empty()) return std::nullopt;
  return unknown.front();
}

std::string about_flag(const CLI::App& app, const std::string& flag) {
  const CLI::App& command = innermost_of(app);
  const std::vector<std::string> flags = flags_of(command);
  if (std::ranges::find(flags, flag) != flags.end()) {
    return flag + " must come after " + path_of(command) + ", not before it";
  }
  const std::string none = one_line(flag) + " is not an option of " + path_of(command);
  const std::string meant = did_you_mean(flag, flags);
  if (!meant.empty()) return none + meant;
  const CLI::App* owner = owner_of(app, flag);
  if (owner == nullptr) return none;
  return none + "; it is one of " + path_of(*owner) + ": give it after that command";
}

// "A command is missing; it must be one of: …"
std::string about_command(const CLI::App& app, const std::optional<std::string>& unknown) {
  if (unknown && is_flag(*unknown)) return about_flag(app, *unknown);
  const std::vector<std::string> commands = commands_of(innermost_of(app));
  std::string text = unknown ? '"' + one_line(*unknown) + "\" is not a command here"
                             : std::string("A command is missing");
  if (unknown) text += did_you_mean(*unknown, commands);
  std::string names;
  for (const std::string& name : commands) names += (names.empty() ? "" : ", ") + name;
  return text + (text.ends_with('?') ? " It" : "; it") + " must be one of: " + names;
}

// An empty reason means that CLI11's own message is good enough.
std::string reason_of(const CLI::App& app, const CLI::ParseError& error) {
  const std::optional<std::string> unknown = unknown_word(app);
  const bool no_command = dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
                          !commands_of(innermost_of(app)).empty();
  if (no_command) return about_command(app, unknown);
  if (dynamic_cast<const CLI::ExtrasError*>(&error) == nullptr || !unknown) return {};
  if (is_flag(*unknown)) return about_flag(app, *unknown);
  return '"' + one_line(*unknown) + "\" is more than " + path_of(innermost_of(app)) +
         " takes; put a text of several words in quotes: 'like this'";
}

}  // namespace

int explain_command_line(const CLI::App& app, const CLI::ParseError& error, std::ostream* json) {
  const std::string reason = reason_of(app, error);
  const bool wrong = error.get_exit_code() != 0;
  if (json != nullptr && wrong) {
    const std::string what = reason.empty() ? one_line(error.what()) : reason;
    *json << dump_json(json_of_error(invalid_argument("", what))) << std::endl;
    return kExitUsage;
  }
  if (reason.empty()) return app.exit(error) == 0 ? kExitOk : kExitUsage;
  std::cerr << reason << "\nRun with --help for more information." << std::endl;
  return kExitUsage;
}

}  // namespace cascade::ctl
