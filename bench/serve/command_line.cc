// Ranges keep typing errors from starting a measurement that would never end.
#include "bench/serve/command_line.h"

#include <sstream>

#include "base/number_types.h"
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

// Also refuses "nan", which CLI::Range accepts in any range.
CLI::Validator within(double min, double max) {
  const auto check = [min, max](const std::string& text) {
    double value = 0;
    if (CLI::detail::lexical_cast(text, value) && value >= min && value <= max)
      return std::string();
    std::ostringstream error;
    error << text << " is not a number from " << min << " to " << max;
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
  command->add_option("--weights", options.weights, std::string(kWeightTypeNames))
      ->capture_default_str();
  command->add_option("--kv", options.kv, "f32, bf16, fp16, fp8 or int8")->capture_default_str();
  command->add_option("--threads", options.threads, "threads of the daemon (default: its own)")
      ->check(CLI::Range(1, 256));
  command
      ->add_option("--kv-memory", options.kv_memory, "memory for KV pages, as the daemon's option")
      ->check(bench::not_empty());
  command
      ->add_option("--daemon-arg", options.daemon_args,
                   "passed on unchanged to the daemon, e.g. --daemon-arg=--max-waiting=8")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--seed", options.seed, "seed of texts and arrivals")->capture_default_str();
  command->add_flag("--json", options.json, "print JSON instead of a table");
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
  add_count(command, "--max-tokens", options.max_tokens, "tokens of an answer, thoughts included",
            1, kTokensMax);
  add_count(command, "--system-tokens", options.system_tokens, "tokens of the system prompt", 0,
            kTokensMax);
  add_count(command, "--query-tokens", options.query_tokens, "tokens of a question, notes included",
            1, kTokensMax);
  command->callback([&] { status = chat(options); });
}

void add_overload(CLI::App& app, OverloadOptions& options, Status& status) {
  auto* command = app.add_subcommand("overload", "more requests than can be served");
  add_serve(command, options.serve);
  add_seconds(command, "--seconds", options.seconds, "seconds of the overload");
  add_seconds(command, "--capacity-seconds", options.capacity_seconds,
              "seconds of each measurement of the capacity, before and after");
  command->add_option("--factor", options.factor, "how many times the capacity is offered")
      ->check(within(0.1, 100))
      ->capture_default_str();
  add_count(command, "--running", options.running,
            "how many requests the daemon runs together, and how many clients measure the "
            "capacity",
            1, 256);
  add_count(command, "--connections", options.connections,
            "how many connections the requests share", 1, 1024);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "tokens of each request", 1,
            kTokensMax);
  add_count(command, "--max-tokens", options.max_tokens, "mean tokens of an answer", 1, kTokensMax);
  command->callback([&] { status = overload(options); });
}

void add_vanish(CLI::App& app, VanishOptions& options, Status& status) {
  auto* command = app.add_subcommand("vanish", "clients that disconnect silently");
  add_serve(command, options.serve);
  add_count(command, "--clients", options.clients, "how many clients vanish", 1, 1'000'000);
  add_count(command, "--at-once", options.at_once, "how many of them are connected at once", 1,
            1024);
  add_count(command, "--steady", options.steady, "how many clients stay", 1, 256);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "tokens of each request", 1,
            kTokensMax);
  add_count(command, "--max-tokens", options.max_tokens,
            "tokens that the vanishing clients ask for", 1, kTokensMax);
  add_count(command, "--steady-tokens", options.steady_tokens,
            "tokens of an answer to the clients that stay", 1, kTokensMax);
  add_seconds(command, "--settle-seconds", options.settle_seconds,
              "seconds within which all slots must be free at the end");
  command->callback([&] { status = vanish(options); });
}

void add_fairness(CLI::App& app, FairnessOptions& options, Status& status) {
  auto* command = app.add_subcommand("fairness", "a light tenant beside others that flood");
  add_serve(command, options.serve);
  add_count(command, "--samples", options.samples,
            "requests of the light tenant, both alone and beside the others", 1, 100'000);
  add_count(command, "--pause-ms", options.pause_ms,
            "mean milliseconds between two requests of the light tenant", 0, 3'600'000);
  add_count(command, "--prompt-tokens", options.light_prompt_tokens,
            "prompt tokens of the light tenant", 1, kTokensMax);
  add_count(command, "--max-tokens", options.light_max_tokens, "answer tokens of the light tenant",
            1, kTokensMax);
  add_count(command, "--tenants", options.tenants,
            "how many tenants, one of them light; the others flood", 2, 200);
  add_count(command, "--flood", options.flood, "how many requests each of the others has in flight",
            1, 100'000);
  command->add_flag("--patient", options.patient,
                    "after a refusal, flooding clients wait as long as the daemon says, and do "
                    "not retry at once");
  add_count(command, "--flood-prompt-tokens", options.flood_prompt_tokens,
            "prompt tokens of each flooding request", 1, kTokensMax);
  add_count(command, "--flood-max-tokens", options.flood_max_tokens,
            "answer tokens of each flooding request", 1, kTokensMax);
  command->add_flag("--one-tenant", options.one_tenant,
                    "all requests use the default endpoint, as if there were no tenants");
  command->callback([&] { status = fairness(options); });
}

void add_interference(CLI::App& app, InterferenceOptions& options, Status& status) {
  auto* command = app.add_subcommand("interference", "decodes beside the prefill of a long prompt");
  add_serve(command, options.serve);
  command
      ->add_option("--prompt-tokens", options.prompt_tokens,
                   "tokens of the long prompt (default: 16000, or as many as the model's context "
                   "holds)")
      ->check(CLI::Range(int64_t{64}, kTokensMax));
  add_count(command, "--decodes", options.decodes, "how many decodes run all the time", 1, 256);
  add_count(command, "--decode-tokens", options.decode_tokens, "tokens of each decode", 2,
            kTokensMax);
  add_seconds(command, "--seconds", options.seconds, "seconds of the decodes alone");
  add_count(command, "--repeats", options.repeats,
            "how many prompts are measured, alone and beside decodes; the median is printed", 1,
            1000);
  command->callback([&] { status = interference(options); });
}

void add_restore(CLI::App& app, RestoreOptions& options, Status& status) {
  auto* command = app.add_subcommand("restore", "how fast the KV cache is back after a restart");
  add_serve(command, options.serve);
  command
      ->add_option("--prompt-tokens", options.prompt_tokens,
                   "tokens of the long prompt (default: 16000, or as many as the model's context "
                   "holds)")
      ->check(CLI::Range(int64_t{64}, kTokensMax));
  add_count(command, "--repeats", options.repeats,
            "how many prompts are measured; the median is printed", 1, 1000);
  add_count(command, "--decodes", options.decodes,
            "how many decodes run together while pages are written", 1, 256);
  add_count(command, "--decode-tokens", options.decode_tokens, "tokens of each decode", 2,
            kTokensMax);
  add_count(command, "--rounds", options.rounds,
            "rounds of decodes with and without pages written; 0: none", 0, 1000);
  add_seconds(command, "--seconds", options.seconds, "seconds of each round");
  command->callback([&] { status = restore(options); });
}

void add_registry(CLI::App& app, RegistryOptions& options, Status& status) {
  auto* command = app.add_subcommand("registry", "many chunks: starts, lists, searches");
  add_serve(command, options.serve);
  add_count(command, "--chunks", options.chunks, "how many chunks are registered", 2, 100'000);
  add_count(command, "--tokens", options.tokens, "approximate tokens of each chunk", 1, 4096);
  add_count(command, "--connections", options.connections,
            "how many clients register them together", 1, 64);
  add_count(command, "--repeats", options.repeats, "how often each question is asked", 1, 100'000);
  add_count(command, "--starts", options.starts, "how many starts after a kill are measured", 1,
            100);
  command->callback([&] { status = registry(options); });
}

void add_gateway(CLI::App& app, GatewayOptions& options, Status& status) {
  auto* command =
      app.add_subcommand("gateway", "how much ZeroMQ and HTTP add to the engine's time");
  add_serve(command, options.serve);
  add_count(command, "--requests", options.requests, "how many requests come through each door", 1,
            1'000'000);
  add_count(command, "--warm-up", options.warm_up, "how many requests come first, unmeasured", 0,
            1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "tokens of each request", 1,
            kTokensMax);
  add_count(command, "--tokens", options.tokens, "tokens of each answer", 1, kTokensMax);
  command->callback([&] { status = gateway(options); });
}

void add_isolation(CLI::App& app, IsolationOptions& options, Status& status) {
  auto* command = app.add_subcommand("isolation",
                                     "whether response times tell a tenant what another one has "
                                     "sent");
  add_serve(command, options.serve);
  add_count(command, "--probes", options.probes,
            "how many prompts, half of them known to another tenant", 2, 1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "tokens of each prompt", 1,
            kTokensMax);
  command->callback([&] { status = isolation(options); });
}

void add_slow_clients(CLI::App& app, SlowClientsOptions& options, Status& status) {
  auto* command = app.add_subcommand("slow-clients", "a client beside many slow connections");
  add_serve(command, options.serve);
  add_count(command, "--connections", options.connections, "how many connections are slow", 1,
            4000);
  add_count(command, "--pace-ms", options.pace_ms, "milliseconds between two bytes of each", 1,
            60'000);
  add_count(command, "--rounds", options.rounds,
            "rounds, each alone and beside the slow connections", 1, 1000);
  add_count(command, "--requests", options.requests,
            "requests through each door, in each half of a round", 1, 1'000'000);
  add_count(command, "--warm-up", options.warm_up, "how many requests come first, unmeasured", 0,
            1'000'000);
  add_count(command, "--prompt-tokens", options.prompt_tokens, "tokens of each request", 1,
            kTokensMax);
  add_count(command, "--tokens", options.tokens, "tokens of each answer", 1, kTokensMax);
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
