// The command line of the commands that measure the service.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

#include "base/result.h"

namespace cascade::serve {

struct AllOptions;

// Adds the commands to `app`; the chosen one leaves its result in `status`. The returned options
// must outlive the parsing.
std::shared_ptr<AllOptions> add_commands(CLI::App& app, Status& status);

}  // namespace cascade::serve
