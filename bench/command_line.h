// What the command lines of cascade-eval and cascade-bench have in common.
#pragma once

#include <CLI/CLI.hpp>

#include "base/result.h"

namespace cascade::bench {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // the command line is wrong

// Refuses an empty text.
CLI::Validator not_empty();

// Says on standard error what is wrong with the command line, or prints what was asked for (help);
// the exit code.
int explain(const CLI::App& app, const CLI::ParseError& error);

// Says on standard error what went wrong, if anything did; the exit code. An error whose field is
// an option ("--kv") is the command line's.
int finish(const CLI::App& app, const Status& status);

}  // namespace cascade::bench
