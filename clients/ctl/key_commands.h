// The cascadectl key commands: API keys of the HTTP gateway. No daemon is asked.
#pragma once

#include <string>

#include "clients/ctl/screen.h"

namespace cascade::ctl {

struct KeyOptions {
  std::string tenant = "local";
  std::string file;  // to which the key's line is added; empty: it is printed
};

// Makes a key, prints it, and adds its line (tenant, SHA-256) to the file, which is made with mode
// 0600 if it is not there. Returns the exit code.
int run_key_new(Screen& screen, const KeyOptions& options);

}  // namespace cascade::ctl
