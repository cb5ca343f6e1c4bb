// The options of generate for the form that the answer must have.
#pragma once

#include <CLI/CLI.hpp>

#include "wire/messages.h"

namespace cascade::ctl {

// Adds --json-schema, --json-object and --grammar; files are read when the command line is.
void add_grammar_options(CLI::App& command, wire::GenerateRequest& params);

}  // namespace cascade::ctl
