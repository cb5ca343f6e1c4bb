// The command line of the chunk commands.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "clients/ctl/options.h"

namespace cascade::ctl {

// The subcommands of `chunk`; they fill in `options`.
struct ChunkCommands {
  CLI::App* list = nullptr;
  CLI::App* search = nullptr;
  CLI::App* show = nullptr;
  CLI::App* remove = nullptr;
  CLI::App* put = nullptr;
  CLI::App* stats = nullptr;
  std::vector<CLI::App*> updates;
};
ChunkCommands add_chunk_commands(CLI::App& chunk, Options& options);

// The one that was given, if any was.
std::optional<Options::Command> chosen_of(const ChunkCommands& commands);

// What is said of the output that generate --retain or --session keeps.
void add_retention_options(CLI::App& command, wire::GenerateRequest& params);
// Throws CLI::RequiresError for one of these options without an output that is kept.
void check_retention_options(const CLI::App& command);

// A time as parse_duration_ms() takes it, over 0; with kWord also "never", with kWordOrZero also 0.
enum class Never { kNo, kWord, kWordOrZero };
CLI::Validator duration(Never never);

// "250ms", "90s", "10m", "2h", "7d": milliseconds, nullopt if it is none or over 100 years.
std::optional<int64_t> parse_duration_ms(std::string_view text);

// What is sent must be text: encoding would replace other bytes.
CLI::Validator text();
// A value that is given says something.
CLI::Validator not_empty();

}  // namespace cascade::ctl
