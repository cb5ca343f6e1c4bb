// The command line of the service's commands.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "base/result.h"

namespace cascade::serve {

struct AllOptions;

// Adds the commands to `app`; the one that is chosen leaves its result in `status`. What is
// returned outlives the parsing.
std::shared_ptr<AllOptions> add_commands(CLI::App& app, Status& status);

}  // namespace cascade::serve
