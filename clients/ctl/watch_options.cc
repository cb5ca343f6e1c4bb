// Adds the options that say what to watch, since when, and how often.
#include "clients/ctl/watch_options.h"

#include <cstdint>

#include "base/event_kind.h"
#include "clients/ctl/chunk_options.h"

namespace cascade::ctl {
namespace {

constexpr int64_t kIntervalMsMin = 100, kIntervalMsMax = 3'600'000;

CLI::Validator kind() {
  const auto check = [](const std::string& name) {
    return event_kind_from_string(name) ? std::string() : "is not a kind of event: " + name;
  };
  return CLI::Validator(check, "");
}

CLI::Validator interval() {
  const auto check = [](const std::string& value) {
    const auto ms = parse_duration_ms(value);
    if (ms && *ms >= kIntervalMsMin && *ms <= kIntervalMsMax) return std::string();
    return "must be a time from 100ms to 1h, such as 2s, got " + value;
  };
  return CLI::Validator(check, "");
}

void add_bench(CLI::App& app, WatchCommands& commands, BenchOptions& bench) {
  commands.bench = app.add_subcommand("bench", "Measure how fast the daemon is with its model");
  const auto add = [&](const char* name, int32_t& value, const char* help, int32_t most) {
    commands.bench->add_option(name, value, help)
        ->check(CLI::Range(int32_t{1}, most))
        ->capture_default_str();
  };
  add("--prompt-tokens", bench.prompt_tokens, "The approximate number of tokens of a prompt",
      1 << 20);
  add("--tokens", bench.tokens, "How many tokens an answer has", 1 << 16);
  add("--batch", bench.batch, "How many answers are made at once",
      static_cast<int32_t>(client::kBatchRequestsMax));
  add("--repeat", bench.repeat, "How often each measurement is repeated; medians are printed", 100);
}

}  // namespace

WatchCommands add_watch_commands(CLI::App& app, WatchOptions& options, BenchOptions& bench) {
  WatchCommands commands;
  commands.stats =
      app.add_subcommand("stats", "Show what chunks and pages take, and what was evicted");
  commands.doctor =
      app.add_subcommand("doctor", "Find problems of the daemon, its settings and its machine");
  add_bench(app, commands, bench);
  commands.events =
      app.add_subcommand("events", "Show what happens to chunks and requests, until Ctrl-C");
  commands.events
      ->add_option("--kind", options.kinds,
                   "Show only these kinds: chunk_stored, chunk_used, chunk_evicted, "
                   "chunk_restored, chunk_expired, chunk_deleted, request_started, "
                   "request_finished")
      ->check(kind());
  commands.events
      ->add_option("--since", options.since,
                   "Begin after the event with this number; 0: with the oldest that is kept")
      ->check(CLI::Range(int64_t{0}, INT64_MAX));
  commands.top =
      app.add_subcommand("top", "Show requests, speeds, memory and chunks, until Ctrl-C");
  commands.top
      ->add_option_function<std::string>(
          "--interval",
          [&options](const std::string& value) {
            options.interval_ms = parse_duration_ms(value).value_or(options.interval_ms);
          },
          "How often to look (default: 1s)")
      ->check(interval());
  for (CLI::App* command : {commands.events, commands.top}) {
    const bool events = command == commands.events;
    command
        ->add_option("--count", options.count,
                     events ? "End after this many events" : "End after this many updates")
        ->check(CLI::Range(int64_t{1}, INT64_MAX));
  }
  return commands;
}

}  // namespace cascade::ctl
