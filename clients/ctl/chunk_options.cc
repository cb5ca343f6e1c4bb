// One subcommand for each operation on chunks.
#include "clients/ctl/chunk_options.h"

#include <charconv>
#include <string>
#include <utility>

#include "base/checked.h"
#include "base/utf8.h"
#include "clients/ctl/number_options.h"
#include "wire/request_rules.h"

namespace cascade::ctl {
namespace {

// An option that writes its time to `out` as milliseconds.
CLI::Option* add_duration(CLI::App& command, const std::string& name, std::optional<int64_t>& out,
                          const std::string& help, Never never = Never::kNo) {
  const auto set = [&out](const std::string& value) {
    out = value == "never" ? 0 : parse_duration_ms(value);
  };
  return command.add_option_function<std::string>(name, set, help)->check(duration(never));
}

// One id, or any number of them.
enum class Count { kOne, kMany };

void add_ids(CLI::App& command, Options& options, Count count) {
  if (count == Count::kOne) {
    // Reads a string, not a vector: a vector would also take the arguments after the id.
    const auto set = [&options](const std::string& id) { options.ids = {id}; };
    command
        .add_option_function<std::string>("ID", set, "The id, or at least its first 8 characters")
        ->check(text())
        ->required();
  } else {
    command.add_option("ID", options.ids, "The ids, or their beginnings")
        ->check(text())
        ->required();
  }
}

void add_put(CLI::App& command, ChunkPutOptions& options) {
  wire::ChunkPut& put = options.put;
  CLI::Option* argument =
      command.add_option("TEXT", options.text, "The text (else --file, --token-ids or stdin)")
          ->check(text());
  CLI::Option* file =
      command.add_option("--file", options.file, "The text of this file (-: stdin)");
  CLI::Option* ids = command
                         .add_option("--token-ids", put.token_ids,
                                     "The text that these token ids stand for: 12,7,90")
                         ->delimiter(',')
                         ->check(whole_number(INT32_MAX))
                         ->allow_extra_args(false);
  argument->excludes(file)->excludes(ids);
  file->excludes(ids);
  const auto set_type = [&put](const std::string& name) {
    put.type = chunk_type_from_string(name).value_or(put.type);
  };
  command
      .add_option_function<std::string>("--type", set_type,
                                        "SYSTEM_PROMPT, CONTEXT (default) or QUERY")
      ->transform(CLI::IsMember({"SYSTEM_PROMPT", "CONTEXT", "QUERY"}, CLI::ignore_case));
  command.add_option("--name", put.name, "A name, which is shown with the chunk")->check(text());
  command.add_flag_callback(
      "--pin", [&put] { put.pinned = true; },
      "Protect the chunk from expiry and deletion, and its KV pages from eviction");
  add_duration(command, "--ttl", put.ttl_ms, "Delete the chunk after this time");
  CLI::Option* priority =
      command.add_option("--priority", put.priority, "0 (evicted first) to 100")
          ->check(whole_number(wire::kChunkPriorityMax));
  add_duration(command, "--priority-for", put.priority_ms, "The priority holds for this time")
      ->needs(priority);
}

// The subcommands that change a chunk.
std::vector<CLI::App*> add_updates(CLI::App& chunk, Options& options) {
  wire::ChunkUpdate& update = options.update;
  std::vector<CLI::App*> commands;
  const auto add = [&](const char* name, const char* help,
                       Count count = Count::kMany) -> CLI::App& {
    commands.push_back(chunk.add_subcommand(name, help));
    add_ids(*commands.back(), options, count);
    return *commands.back();
  };
  add("rename", "Give a chunk a name (\"\": none)", Count::kOne)
      .add_option("NAME", update.name, "At most 128 bytes, without control characters")
      ->check(text())
      ->required();
  add("touch", "Count chunks as used once more").alias("use")->parse_complete_callback([&update] {
    update.touch = true;
  });
  const auto set = [](std::optional<bool>& flag, bool value) {
    return [&flag, value] { flag = value; };
  };
  add("pin", "Protect the chunks from expiry and deletion, and their KV pages from eviction")
      .parse_complete_callback(set(update.pinned, true));
  add("unpin",
      "Undo one pin; when no pin is left, holders whose time is over, which the pins kept, end")
      .parse_complete_callback(set(update.pinned, false));
  add("publish", "Let every tenant find the chunks; only tenant \"local\" may do this")
      .parse_complete_callback(set(update.published, true));
  add("unpublish", "Make published chunks private again")
      .parse_complete_callback(set(update.published, false));
  CLI::App& ttl = add("ttl", "Set how long a chunk lives", Count::kOne);
  add_duration(ttl, "TIME", update.ttl_ms, "From now: 90s, 10m, 2h, 7d; never", Never::kWord)
      ->required();
  CLI::App& priority = add("priority", "Set the eviction priority of chunks", Count::kOne);
  priority.add_option("PRIORITY", update.priority, "0 (evicted first) to 100")
      ->check(whole_number(wire::kChunkPriorityMax))
      ->required();
  add_duration(priority, "--for", update.priority_ms, "Only for this time, then the default");
  return commands;
}

}  // namespace

CLI::Validator duration(Never never) {
  const auto check = [never](const std::string& value) {
    const auto ms = parse_duration_ms(value);
    const bool word = never != Never::kNo && value == "never";
    const bool zero = never == Never::kWordOrZero && (value == "0" || ms == 0);
    if (word || zero || ms.value_or(0) > 0) return std::string();
    return "must be a time like 250ms, 90s, 10m, 2h or 7d" +
           std::string(never == Never::kNo ? "" : ", or never");
  };
  return CLI::Validator(check, "TIME");
}

CLI::Validator not_empty() {
  return CLI::Validator(
      [](const std::string& value) {
        return std::string(value.empty() ? "must not be empty" : "");
      },
      "");
}

CLI::Validator text() {
  const auto check = [](const std::string& value) {
    const size_t valid = utf8_valid_prefix(value);
    if (valid == value.size()) return std::string();
    return "is not UTF-8 at byte " + std::to_string(valid);
  };
  return CLI::Validator(check, "");
}

std::optional<int64_t> parse_duration_ms(std::string_view text) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}};
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number < 0) return std::nullopt;
  const std::string_view suffix(unit, static_cast<size_t>(end - unit));
  for (const auto& [name, factor] : kUnits) {
    if (suffix != name) continue;
    const auto ms = checked_mul(number, factor);
    if (!ms || *ms > wire::kDurationMsMax) return std::nullopt;
    return *ms;
  }
  return std::nullopt;
}

ChunkCommands add_chunk_commands(CLI::App& chunk, Options& options) {
  ChunkCommands commands;
  chunk.require_subcommand(1);
  commands.list = chunk.add_subcommand(
      "list",
      "List chunks, newest first. KV: ready (the chunk holds its pages), pending (they will be "
      "computed), cached (they stay until the space is needed), none");
  const auto set_type = [&options](const std::string& name) {
    options.list.type = chunk_type_from_string(name);
  };
  commands.list->add_option_function<std::string>("--type", set_type, "Only these")
      ->transform(CLI::IsMember({"SYSTEM_PROMPT", "CONTEXT", "OUTPUT", "QUERY", "SUMMARY"},
                                CLI::ignore_case));
  commands.list
      ->add_option("--limit", options.list.limit, "The largest number of entries (1 to 1000)")
      ->check(CLI::Range(1, wire::kListLimitMax));
  commands.search =
      chunk.add_subcommand("search", "Find chunks by words in their name, text or question");
  commands.search
      ->add_option("QUERY", options.search.query,
                   "Words that must all be in the name, text or question; case and accents do "
                   "not matter")
      ->check(text())
      ->required();
  commands.search
      ->add_option("--limit", options.search.limit, "The largest number of entries (1 to 1000)")
      ->check(CLI::Range(1, wire::kListLimitMax))
      ->capture_default_str();
  commands.show = chunk.add_subcommand("show", "Show one chunk and its text");
  add_ids(*commands.show, options, Count::kOne);
  commands.remove =
      chunk.add_subcommand("delete",
                           "Give up a holder of chunks; a chunk without holders is deleted with "
                           "its KV cache");
  add_ids(*commands.remove, options, Count::kMany);
  CLI::Option* name = commands.remove->add_option(
      "--name", options.remove.name,
      "Give up what this name holds. Without --name: one retention, or else what a request "
      "brought along, or else the only name, but never a session's turn");
  name->check(text())->check(not_empty());
  commands.remove
      ->add_flag("--all", options.remove.all, "Give up all holders, turns of sessions included")
      ->excludes(name);
  commands.put = chunk.add_subcommand("put", "Register a text, and print its id");
  add_put(*commands.put, options.put);
  commands.stats =
      chunk.add_subcommand("stats", "Show what chunks and pages take, and what was evicted");
  commands.updates = add_updates(chunk, options);
  for (CLI::App* command : chunk.get_subcommands({})) command->fallthrough();
  return commands;
}

std::optional<Options::Command> chosen_of(const ChunkCommands& commands) {
  using Command = Options::Command;
  if (commands.list->parsed()) return Command::kChunkList;
  if (commands.search->parsed()) return Command::kChunkSearch;
  if (commands.show->parsed()) return Command::kChunkShow;
  if (commands.remove->parsed()) return Command::kChunkDelete;
  if (commands.put->parsed()) return Command::kChunkPut;
  if (commands.stats->parsed()) return Command::kChunkStats;
  for (const CLI::App* command : commands.updates) {
    if (command->parsed()) return Command::kChunkUpdate;
  }
  return std::nullopt;
}

void add_retention_options(CLI::App& command, wire::GenerateRequest& params) {
  command.add_option("--name", params.output_name, "The name of the kept output")->check(text());
  command.add_flag_callback(
      "--pin", [&params] { params.output_pinned = true; },
      "Protect the output's KV pages from eviction");
  add_duration(command, "--ttl", params.output_ttl_ms, "Delete the output after this time");
  CLI::Option* priority = command
                              .add_option("--priority", params.output_priority,
                                          "The output's priority: 0 (evicted first) to 100")
                              ->check(whole_number(wire::kChunkPriorityMax));
  add_duration(command, "--priority-for", params.output_priority_ms,
               "The output's priority holds for this time")
      ->needs(priority);
  CLI::Option* prompt = command
                            .add_option("--prompt-priority", params.prompt_priority,
                                        "The priority of the prompt's KV pages: 0 to 100; needs "
                                        "--prompt-priority-for")
                            ->check(whole_number(wire::kChunkPriorityMax));
  add_duration(command, "--prompt-priority-for", params.prompt_priority_ms,
               "How long that priority holds")
      ->needs(prompt);
}

void check_retention_options(const CLI::App& command) {
  if (command.count("--retain") + command.count("--session") > 0) return;
  for (const char* option : {"--name", "--pin", "--ttl", "--priority"}) {
    if (command.count(option) > 0) throw CLI::RequiresError(option, "--retain or --session");
  }
}

}  // namespace cascade::ctl
