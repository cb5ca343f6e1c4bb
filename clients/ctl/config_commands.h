// The cascadectl config commands: the settings of cascaded. No daemon is asked.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct ConfigOptions {
  std::string file;   // empty: the one that the service reads
  std::string model;  // of `manual`: the model folder that the printed file sets
  bool page = false;  // of `manual`: print the manual page instead of the file
};

// Prints what is wrong with the file and those of FILE.d, each with its file, line and key. Returns
// the exit code: kExitUsage if anything is wrong, like `cascaded --check`, which finds the same.
int run_config_check(Screen& screen, const ConfigOptions& options);

// Finds the settings files in effect, if the service has any, and what is wrong with them, one
// problem per line.
void find_setting_problems(std::vector<std::string>& files, std::vector<std::string>& problems);

// Prints the settings in effect (file, FILE.d and environment over the defaults), and where each
// was set. If nobody names a file and the service has none, these are the environment over the
// defaults. Returns the exit code, as run_config_check() does.
int run_config_show(Screen& screen, const ConfigOptions& options);

// Prints the configuration file with every setting, its values, its default and the reason for it.
int run_config_manual(Screen& screen, const ConfigOptions& options);

}  // namespace cascade::ctl
