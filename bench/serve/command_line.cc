// Ranges keep typing errors from starting what would never end.
#include "bench/serve/command_line.h"

#include <sstream>

#include "bench/command_line.h"
#include "bench/serve/commands.h"

namespace cascade::serve {
namespace {

constexpr int64_t kTokensMax = int64_t{1} << 24;
constexpr double kSecondsMax = 86'400;

void add_count(CLI::App* command, const char* name, int64_t& value, const char* what, int64_t min,
               int64_t max) {
  command->add_option(name, value, what)->check(CLI::Range(min, max))->capture_default_str();
}

// CLI::Range takes "nan" for a number in any range.
CLI::Validator within(double min, double max) {
  const auto check = [min, max](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= min && value <= max)
      return std::string();
    std::ostringstream error;
    error << text << " is no number from " << min << " to " << max;
    return error.str();
  };
  return CLI::Validator(check, "");
}

void add_seconds(CLI::App* command, const char* name, double& value, const char* what) {
  command->add_option(name, value, what)->check(within(0.1, kSecondsMax))->capture_default_str();
}

void add_serve(CLI::App* command, ServeOptions& options) {
  command->add_option("--model", options.model_dir, "folder of the model")
      ->check(bench::not_empty())
      ->required();
  command->add_option("--cascaded", options.cascaded, "the daemon (default: beside this program)");
  command->add_option("--weights", options.weights, "f32, bf16, int8 or int4")
      ->capture_default_str();
  command->add_option("--kv", options.kv, "f32, bf16, fp16, fp8 or int8")->capture_default_str();
  command->add_option("--threads", options.threads, "threads of the daemon (default: its own)")
      ->check(CLI::Range(1, 256));
  command->add_option("--kv-memory", options.kv_memory, "as the daemon takes it")
      ->check(bench::not_empty());
  command
      ->add_option("--daemon-arg", options.daemon_args,
                   "passed on to the daemon as it is, e.g. --daemon-arg=--max-waiting=8")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--seed", options.seed, "of texts and arrivals")->capture_default_str();
  command->add_flag("--json", options.json, "JSON instead of a table");
}

}  // namespace

struct AllOptions {
  ChatOptions chat;
  OverloadOptions overload;
  VanishOptions vanish;
  FairnessOptions fairness;
  InterferenceOptions interference;
  RestoreOptions restore;
  RegistryOptions registry;
  GatewayOptions gateway;
  IsolationOptions isolation;
  SlowClientsOptions slow_clients;
};

namespace {

void add_chat(CLI::App& app, ChatOptions& options, Status& status) {
  auto* command = app.add_subcommand("chat", "a conversation with and without retained outputs");
  add_serve(command, options.serve);
  add_count(command, "--turns", options.turns, "turns", 1, 10'000);
  add_count(command, "--max-tokens", options.max_tokens, "of an answer, thoughts included", 1,
            kTokensMax);
  add_count(command, "--system-tokens", options.system_tokens, "of the system prompt", 0,
            kTokensMax);
  add_count(command, "--query-tokens", options.query_tokens, "of a question, notes included", 1,
            kTokensMax);
  command->callback([&] { status = chat(options); });
}

void add_overload(CLI::App& app, OverloadOptions& options, Status& status) {
  auto* command = app.add_subcommand("overload", "more requests than can be served");
  add_serve(command, options.serve);
  add_seconds(command, "--seconds", options.seconds, "of the overload");
  add_seconds(command, "--capacity-seconds", options.capacity_seconds,
              "of each measurement of the capacity, before and after");
  command->add_option("--factor", options.factor, "of the capacity, that is offered")
      ->check(within(0.1, 100))
      ->capture_default_str();
  add_count(command, "--running", options.running,
            "requests that the daemon runs together, and clients that measure the capacity", 1,
            256);
  add_count(command, "--connections", options.connections, "that the requests share", 1, 1024);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "of each request", 1, kTokensMax);
  add_count(command, "--max-tokens", options.max_tokens, "of an answer, in the mean", 1,
            kTokensMax);
  command->callback([&] { status = overload(options); });
}

void add_vanish(CLI::App& app, VanishOptions& options, Status& status) {
  auto* command = app.add_subcommand("vanish", "clients that leave without a word");
  add_serve(command, options.serve);
  add_count(command, "--clients", options.clients, "that vanish", 1, 1'000'000);
  add_count(command, "--at-once", options.at_once, "of them, connected at once", 1, 1024);
  add_count(command, "--steady", options.steady, "clients that stay", 1, 256);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "of each request", 1, kTokensMax);
  add_count(command, "--max-tokens", options.max_tokens, "that those who vanish ask for", 1,
            kTokensMax);
  add_count(command, "--steady-tokens", options.steady_tokens, "of an answer of those who stay", 1,
            kTokensMax);
  add_seconds(command, "--settle-seconds", options.settle_seconds,
              "within which all slots must be free in the end");
  command->callback([&] { status = vanish(options); });
}

void add_fairness(CLI::App& app, FairnessOptions& options, Status& status) {
  auto* command = app.add_subcommand("fairness", "a light tenant beside others that flood");
  add_serve(command, options.serve);
  add_count(command, "--samples", options.samples, "requests of the light tenant, alone and beside",
            1, 100'000);
  add_count(command, "--pause-ms", options.pause_ms, "mean, between them", 0, 3'600'000);
  add_count(command, "--prompt-tokens", options.light_prompt_tokens, "of the light tenant", 1,
            kTokensMax);
  add_count(command, "--max-tokens", options.light_max_tokens, "of the light tenant", 1,
            kTokensMax);
  add_count(command, "--tenants", options.tenants, "with the light one; the others flood", 2, 200);
  add_count(command, "--flood", options.flood, "requests that each of the others has in flight", 1,
            100'000);
  command->add_flag("--patient", options.patient,
                    "what is refused is asked again when the daemon says so: else at once");
  add_count(command, "--flood-prompt-tokens", options.flood_prompt_tokens, "of each of them", 1,
            kTokensMax);
  add_count(command, "--flood-max-tokens", options.flood_max_tokens, "of each of their answers", 1,
            kTokensMax);
  command->add_flag("--one-tenant", options.one_tenant,
                    "all through the default endpoint: how it is without tenants");
  command->callback([&] { status = fairness(options); });
}

void add_interference(CLI::App& app, InterferenceOptions& options, Status& status) {
  auto* command = app.add_subcommand("interference", "decodes beside the prefill of a long prompt");
  add_serve(command, options.serve);
  command
      ->add_option("--prompt-tokens", options.prompt_tokens,
                   "of the long prompt (default: 16000, or what the model's context holds)")
      ->check(CLI::Range(int64_t{64}, kTokensMax));
  add_count(command, "--decodes", options.decodes, "that run all the time", 1, 256);
  add_count(command, "--decode-tokens", options.decode_tokens, "of one of them", 2, kTokensMax);
  add_seconds(command, "--seconds", options.seconds, "undisturbed");
  add_count(command, "--repeats", options.repeats, "prompts, alone and beside, of which the median",
            1, 1000);
  command->callback([&] { status = interference(options); });
}

void add_restore(CLI::App& app, RestoreOptions& options, Status& status) {
  auto* command =
      app.add_subcommand("restore", "what outlives the daemon, and how fast it is back");
  add_serve(command, options.serve);
  command
      ->add_option("--prompt-tokens", options.prompt_tokens,
                   "of the long prompt (default: 16000, or what the model's context holds)")
      ->check(CLI::Range(int64_t{64}, kTokensMax));
  add_count(command, "--repeats", options.repeats, "prompts, of which the median", 1, 1000);
  add_count(command, "--decodes", options.decodes, "that run together while pages are written", 1,
            256);
  add_count(command, "--decode-tokens", options.decode_tokens, "of one of them", 2, kTokensMax);
  add_count(command, "--rounds", options.rounds,
            "of decodes with and without a state directory; 0: none", 0, 1000);
  add_seconds(command, "--seconds", options.seconds, "of each");
  command->callback([&] { status = restore(options); });
}

void add_registry(CLI::App& app, RegistryOptions& options, Status& status) {
  auto* command = app.add_subcommand("registry", "many chunks: starts, lists, searches");
  add_serve(command, options.serve);
  add_count(command, "--chunks", options.chunks, "that are registered", 2, 100'000);
  add_count(command, "--tokens", options.tokens, "of each, about", 1, 4096);
  add_count(command, "--connections", options.connections, "that register them together", 1, 64);
  add_count(command, "--repeats", options.repeats, "of each question", 1, 100'000);
  add_count(command, "--starts", options.starts, "after a kill", 1, 100);
  command->callback([&] { status = registry(options); });
}

void add_gateway(CLI::App& app, GatewayOptions& options, Status& status) {
  auto* command = app.add_subcommand("gateway", "what ZeroMQ and HTTP add to the engine's time");
  add_serve(command, options.serve);
  add_count(command, "--requests", options.requests, "through each door", 1, 1'000'000);
  add_count(command, "--warm-up", options.warm_up, "requests before them", 0, 1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "of each request", 1, kTokensMax);
  add_count(command, "--tokens", options.tokens, "of each answer", 1, kTokensMax);
  command->callback([&] { status = gateway(options); });
}

void add_isolation(CLI::App& app, IsolationOptions& options, Status& status) {
  auto* command =
      app.add_subcommand("isolation", "whether time tells a tenant what another has sent");
  add_serve(command, options.serve);
  add_count(command, "--probes", options.probes, "prompts, half of them known to another", 2,
            1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "of each", 1, kTokensMax);
  command->callback([&] { status = isolation(options); });
}

void add_slow_clients(CLI::App& app, SlowClientsOptions& options, Status& status) {
  auto* command =
      app.add_subcommand("slow-clients", "a client beside many connections that are slow");
  add_serve(command, options.serve);
  add_count(command, "--connections", options.connections, "that are slow", 1, 4000);
  add_count(command, "--pace-ms", options.pace_ms, "between two bytes of each", 1, 60'000);
  add_count(command, "--rounds", options.rounds, "alone and beside them", 1, 1000);
  add_count(command, "--requests", options.requests, "through each door, in each half of a round",
            1, 1'000'000);
  add_count(command, "--warm-up", options.warm_up, "requests before them", 0, 1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "of each request", 1, kTokensMax);
  add_count(command, "--tokens", options.tokens, "of each answer", 1, kTokensMax);
  command->callback([&] { status = slow_clients(options); });
}

}  // namespace

std::shared_ptr<AllOptions> add_commands(CLI::App& app, Status& status) {
  auto all = std::make_shared<AllOptions>();
  add_chat(app, all->chat, status);
  add_overload(app, all->overload, status);
  add_vanish(app, all->vanish, status);
  add_fairness(app, all->fairness, status);
  add_interference(app, all->interference, status);
  add_restore(app, all->restore, status);
  add_registry(app, all->registry, status);
  add_gateway(app, all->gateway, status);
  add_isolation(app, all->isolation, status);
  add_slow_clients(app, all->slow_clients, status);
  return all;
}

}  // namespace cascade::serve
