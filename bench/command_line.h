// The common parts of the command lines of cascade-eval and cascade-bench.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"

namespace cascade::bench {

inline constexpr int kExitFailed = 1;
inline constexpr int kExitUsage = 2;  // the command line is wrong

// Refuses an empty text.
CLI::Validator not_empty();

// Adds --kv-memory, a size; `what` says what it is.
CLI::Option* add_kv_memory(CLI::App* command, int64_t& kv_memory, const std::string& what);
// Adds --kv-memory, a size, and --spill-dir, which has a meaning only with it: the memory for K and
// V of one sequence, and the folder of the file for the rest (bench/spilled_chain.h).
void add_spill_options(CLI::App* command, int64_t& kv_memory, std::string& spill_dir);

// Says on standard error what is wrong with the command line, or prints what was asked for (help).
// Returns the exit code.
int explain(const CLI::App& app, const CLI::ParseError& error);

// Says on standard error what went wrong, if anything did. Returns the exit code. An error whose
// field is an option ("--kv") counts as a mistake in the command line.
int finish(const CLI::App& app, const Status& status);

}  // namespace cascade::bench
