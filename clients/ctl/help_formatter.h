// The help of the command line, in lines of the terminal's width.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>

namespace cascade::ctl {

// CLI11's own text, wrapped if stdout is a terminal. Subcommands that are added later also use it.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace cascade::ctl
