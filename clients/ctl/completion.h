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
    std::vector<std::string> values;  // that it may have, if they are few
  };
  std::vector<Option> options;
  std::vector<std::string> commands;  // the last words of those below it
};

// cascaded's, from its settings.
CommandWords daemon_words();

// The script for "bash", "zsh" or "fish" that completes `program`, of which `all` has the commands,
// itself first. Errors: kInvalidArgument for another shell.
Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<CommandWords>& all);

}  // namespace cascade::ctl
