// Explains why CLI11 refused a command line, and what to write instead.
#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>

namespace cascade::ctl {

// Says what is wrong, or prints what was asked for (--help, --version); returns the exit code.
// `json`: where to write mistakes as JSON; nullptr: they are written as text to standard error.
// `app` has parsed the line, which ended with `error`.
int explain_command_line(const CLI::App& app, const CLI::ParseError& error, std::ostream* json);

}  // namespace cascade::ctl
