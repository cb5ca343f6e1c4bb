// Completions for shells, from the options that the programs take.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace cascade::ctl {

// A command as a shell completes it.
struct CommandWords {
  std::string path;  // "cascadectl chunk put"
  std::string help;
  struct Option {
    std::string name;  // "--json"
    std::string help;
    bool takes_value;
    std::vector<std::string> values;  // possible values, if they are few
  };
  std::vector<Option> options;
  std::vector<std::string> commands;  // the last words of the commands below it
};

// The words of cascaded, from its settings.
CommandWords daemon_words();

// The script for "bash", "zsh" or "fish" that completes `program`. `all` has the program's
// commands, the program itself first. Errors: kInvalidArgument for another shell.
Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<CommandWords>& all);

}  // namespace cascade::ctl
