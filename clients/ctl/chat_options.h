// The command line of the chat.
#pragma once

#include <CLI/CLI.hpp>

#include "clients/ctl/options.h"

namespace cascade::ctl {

// Adds all options of `chat` except sampling; they fill in `options`.
void add_chat_options(CLI::App& command, ChatOptions& options);

// Throws CLI::ExcludesError for a time to live of outputs that are not kept, and for a session
// whose turns are not kept. Afterwards options.params say whether outputs are kept.
void check_chat_options(const CLI::App& command, ChatOptions& options);

}  // namespace cascade::ctl
