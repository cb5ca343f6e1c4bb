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

// The subcommand that was given, if any.
std::optional<Options::Command> chosen_of(const ChunkCommands& commands);

// Adds the options for the output that generate --retain or --session keeps.
void add_retention_options(CLI::App& command, wire::GenerateRequest& params);
// Throws CLI::RequiresError if one of these options is given and no output is kept.
void check_retention_options(const CLI::App& command);

// A time that parse_duration_ms() accepts, over 0; with kWord also "never", with kWordOrZero also
// 0.
enum class Never { kNo, kWord, kWordOrZero };
CLI::Validator duration(Never never);

// "250ms", "90s", "10m", "2h", "7d" as milliseconds; nullopt if it is not a time or over 100 years.
std::optional<int64_t> parse_duration_ms(std::string_view text);

// The value must be text: encoding would replace other bytes.
CLI::Validator text();
// The value must not be empty.
CLI::Validator not_empty();

}  // namespace cascade::ctl
