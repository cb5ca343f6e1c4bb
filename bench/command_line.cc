// Reports errors of command lines as sentences and exit codes.
#include "bench/command_line.h"

#include <cstdio>
#include <string>
#include <vector>

namespace cascade::bench {

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return std::string(text.empty() ? "must not be empty" : "");
  };
  return CLI::Validator(check, "");
}

CLI::Option* add_kv_memory(CLI::App* command, int64_t& kv_memory, const std::string& what) {
  return command->add_option("--kv-memory", kv_memory, what)
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->check(CLI::Range(int64_t{1}, INT64_MAX));
}

void add_spill_options(CLI::App* command, int64_t& kv_memory, std::string& spill_dir) {
  auto* const memory_option =
      add_kv_memory(command, kv_memory,
                    "the most memory for K and V of one sequence, such as 1G, beside 64 MiB of "
                    "buffers; the rest is read from a file (default: all are in memory)");
  command->add_option("--spill-dir", spill_dir, "folder of the file of --kv-memory")
      ->capture_default_str()
      ->needs(memory_option);
}

int explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  const bool no_command = app.get_subcommands().empty();
  if (!no_command || dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  std::string commands;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += (commands.empty() ? "" : ", ") + command->get_name();
  }
  const std::string problem =
      unknown.empty() ? "a command is missing" : "\"" + unknown.front() + "\" is not a command";
  std::fprintf(stderr, "%s: %s; it must be one of: %s\n", app.get_name().c_str(), problem.c_str(),
               commands.c_str());
  return kExitUsage;
}

int finish(const CLI::App& app, const Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), status.error().to_string().c_str());
  return status.error().field.starts_with("--") ? kExitUsage : kExitFailed;
}

}  // namespace cascade::bench
