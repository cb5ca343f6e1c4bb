// Turns the settings of config/setting_table.cc into options, and adds what depends on the machine.
#include "daemon/options.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <iterator>
#include <thread>

#include "base/endpoint.h"
#include "base/memory_limit.h"
#include "base/run_places.h"
#include "base/sanitized.h"
#include "base/suggestion.h"
#include "config/consistency.h"
#include "config/model_choice.h"
#include "persist/state_directory.h"

namespace cascade {
namespace {

using config::Configuration;
using config::Setting;
using config::Value;

constexpr int kThreadsMax = 256;  // the limit of ThreadPool

// The first of the folders that systemd made and lists in the variable `name`; "" if there is none.
std::string folder_of_systemd(const char* name) {
  const char* folders = std::getenv(name);
  if (folders == nullptr || *folders != '/') return {};
  return std::string(folders).substr(0, std::string_view(folders).find(':'));
}

// Clients look at the same places. In /tmp nobody else can replace the folder, since /tmp is
// sticky, and RunDir opens no folder that belongs to others.
std::string default_run_dir() {
  return own_run_dirs(run_surroundings()).front();
}

// The cache folder of systemd, or else the state directory.
std::string default_cache_dir(const std::string& state_dir) {
  const std::string systemd = folder_of_systemd("CACHE_DIRECTORY");
  return systemd.empty() ? state_dir : systemd;
}

// Completes addresses, and sets the defaults that depend on other options.
void finish(const config::Values& values, DaemonOptions& options) {
  options.http_address = with_host(options.http_address);
  options.tcp_address = with_host(options.tcp_address);
  if (!values.contains("endpoint")) options.endpoint = default_endpoint(options.run_dir);
  if (!values.contains("cache-dir")) options.cache_dir = default_cache_dir(options.state_dir);
}

DaemonOptions defaults_of_machine() {
  DaemonOptions options;
  options.run_dir = default_run_dir();
  options.state_dir = default_state_dir();
  options.isa = default_isa();
  options.threads =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kThreadsMax);
  options.kv_bytes_max = default_kv_bytes(memory_limit());
  options.state_bytes_max = default_state_bytes(memory_limit());
  return options;
}

using Take = void (*)(DaemonOptions&, const Value&);

const std::string& text_of(const Value& value) {
  return value.texts.front();
}

// The text is a number that config::check() has accepted.
template <auto kOption>
void take_number(DaemonOptions& options, const Value& value) {
  const std::string& text = text_of(value);
  std::from_chars(text.data(), text.data() + text.size(), options.*kOption);
}

int64_t size_of(const Value& value) {
  return *config::parse_size("", text_of(value));
}

// The functions that store the settings' values in the options, by the names of the settings.
const std::map<std::string_view, Take>& takers() {
  using O = DaemonOptions;
  using V = Value;
  static const std::map<std::string_view, Take> all = {
      {"model", [](O& o, const V& v) { o.model_dir = text_of(v); }},
      {"models-dir", [](O& o, const V& v) { o.models_dir = text_of(v); }},
      {"chat-template",
       [](O& o, const V& v) {
         for (const std::string& text : v.texts) {
           const config::ModelChoice choice = config::model_choice(text);
           o.chat_templates[choice.model] = choice.value;
         }
       }},
      {"rope-scaling",
       [](O& o, const V& v) {
         for (const std::string& text : v.texts) {
           const config::ModelChoice choice = config::model_choice(text);
           o.rope_scalings[choice.model] = *parse_context_extension(choice.value);
         }
       }},
      {"max-model-memory", [](O& o, const V& v) { o.model_bytes_max = size_of(v); }},
      {"weights", [](O& o, const V& v) { o.weight_type = weight_type_from_string(text_of(v)); }},
      {"kv", [](O& o, const V& v) { o.kv_type = *kv_type_from_string(text_of(v)); }},
      {"isa", [](O& o, const V& v) { o.isa = *isa_from_string(text_of(v)); }},
      {"threads", take_number<&O::threads>},
      {"run-dir", [](O& o, const V& v) { o.run_dir = text_of(v); }},
      {"state-dir", [](O& o, const V& v) { o.state_dir = text_of(v); }},
      {"cache-dir", [](O& o, const V& v) { o.cache_dir = text_of(v); }},
      {"endpoint", [](O& o, const V& v) { o.endpoint = text_of(v); }},
      {"tenant", [](O& o, const V& v) { o.tenants = v.texts; }},
      {"http", [](O& o, const V& v) { o.http_address = text_of(v); }},
      {"http-keys", [](O& o, const V& v) { o.http_keys_file = text_of(v); }},
      {"http-host", [](O& o, const V& v) { o.http_hosts = v.texts; }},
      {"http-origin", [](O& o, const V& v) { o.http_origins = v.texts; }},
      {"http-model-alias",
       [](O& o, const V& v) {
         for (const std::string& text : v.texts) {
           const size_t equals = text.find('=');
           o.http_model_aliases[text.substr(0, equals)] = text.substr(equals + 1);
         }
       }},
      {"tcp", [](O& o, const V& v) { o.tcp_address = text_of(v); }},
      {"tcp-key", [](O& o, const V& v) { o.tcp_key_file = text_of(v); }},
      {"tcp-clients", [](O& o, const V& v) { o.tcp_clients_file = text_of(v); }},
      {"kv-memory", [](O& o, const V& v) { o.kv_bytes_max = size_of(v); }},
      {"state-memory", [](O& o, const V& v) { o.state_bytes_max = size_of(v); }},
      {"grammar-memory", [](O& o, const V& v) { o.grammar_bytes_max = size_of(v); }},
      {"max-disk", [](O& o, const V& v) { o.disk_bytes_max = size_of(v); }},
      {"max-state-disk", [](O& o, const V& v) { o.state_disk_bytes_max = size_of(v); }},
      {"eviction", [](O& o, const V& v) { o.eviction = *eviction_policy_from_string(text_of(v)); }},
      {"think-policy",
       [](O& o, const V& v) { o.think_policy = *think_policy_from_string(text_of(v)); }},
      {"heal", [](O& o, const V& v) { o.heal = text_of(v) == "yes"; }},
      {"summary-prompt", [](O& o, const V& v) { o.summary_prompt = text_of(v); }},
      {"summary-divisor", take_number<&O::summary_divisor>},
      {"attention", [](O& o, const V& v) { o.attention = *parse_attention(text_of(v)); }},
      {"max-pinned", take_number<&O::max_pinned>},
      {"chunk-memory-ratio", take_number<&O::chunk_memory_ratio>},
      {"max-waiting", take_number<&O::requests_waiting_max>},
      {"max-waiting-tokens", take_number<&O::tokens_waiting_max>},
      {"max-running", take_number<&O::requests_running_max>},
      {"max-tokens", take_number<&O::max_tokens_default>},
      {"stop-timeout", take_number<&O::stop_timeout_s>},
      {"log-level", [](O& o, const V& v) { o.log_level = text_of(v); }},
  };
  return all;
}

// The command line: the settings as options, and the options that are not settings.
struct CommandLine {
  std::map<std::string, std::vector<std::string>> given;  // by the settings' names
  std::string file;
  bool check = false;
};

// A default may be a sentence, so it follows the help, as the default of --config does.
std::string help_of(const Setting& setting) {
  const std::string_view value = setting.computed.empty() ? setting.fallback : setting.computed;
  const std::string help(setting.help);
  return value.empty() ? help : help + " (default: " + std::string(value) + ")";
}

// The word for a value in the help.
std::string value_word(const Setting& setting) {
  switch (setting.kind) {
    case config::Kind::kPath: return "PATH";
    case config::Kind::kChoice: return "one of " + std::string(setting.allowed);
    case config::Kind::kInteger: return "INT";
    case config::Kind::kSize: return "SIZE";
    case config::Kind::kShare: return "SHARE";
    default: return "TEXT";
  }
}

void add_options(CLI::App& app, CommandLine& line) {
  app.set_version_flag("--version", "cascaded " CASCADE_VERSION);
  app.footer(
      "Exit codes: 0 stopped by SIGINT or SIGTERM; 1 it could not start or go on; 2 the command "
      "line or the\nconfiguration is wrong.");
  app.add_option("--config", line.file,
                 "file of settings, cascaded.toml(5); SIGHUP reads it again (default: "
                 "$CASCADED_CONFIG, else none)");
  app.add_flag("--check", line.check, "check the settings and exit");
  for (const Setting& setting : config::settings()) {
    auto* option =
        app.add_option(flag_of(setting), line.given[std::string(setting.name)], help_of(setting))
            ->allow_extra_args(false)
            ->group(std::string(setting.group));
    if (setting.kind != config::Kind::kList) option->expected(1);
    option->type_name(value_word(setting));
  }
}

// The message about words of a command line that are not options; "" if there are none.
std::string about_unknown_words(const CLI::App& app) {
  std::vector<std::string> unknown = app.remaining();
  if (unknown.empty()) return {};
  const auto flag = std::ranges::find_if(unknown, [](const auto& w) { return w.starts_with('-'); });
  if (flag == unknown.end()) {
    return "\"" + unknown.front() +
           "\" is not an option: a setting is an option and its value, such as --model DIR";
  }
  std::vector<std::string> flags;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) flags.push_back("--" + name);
  }
  const std::string name = flag->substr(0, flag->find('='));
  return name + " is not an option" + did_you_mean(name, flags);
}

Configuration layers(const CommandLine& line) {
  Configuration all;
  if (!line.file.empty()) config::add_files(all, line.file);
  config::add_environment(all, environ);
  for (const auto& [name, texts] : line.given) {
    if (texts.empty()) continue;
    const Setting& setting = *config::find_setting(name);
    const Status good = config::check(setting, texts, flag_of(setting));
    if (!good.ok()) all.problems.push_back(good.error());
    all.values.insert_or_assign(name, Value{texts, flag_of(setting)});
  }
  return all;
}

}  // namespace

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  CommandLine line;
  line.file = config::file_from_environment();
  CLI::App app("Cascade: an LLM inference daemon that keeps and reuses what it computed.",
               "cascaded");
  add_options(app, line);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const bool words = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
    const std::string unknown = words ? about_unknown_words(app) : std::string();
    parsed.exit_code = kExitUsage;
    if (unknown.empty()) {
      if (app.exit(error) == 0) parsed.exit_code = 0;
    } else {
      std::cerr << "cascaded: " << sanitized(unknown) << "\nRun with --help for more information."
                << std::endl;
    }
    return parsed;
  }
  parsed.config_file = line.file;
  parsed.configuration = layers(line);
  std::vector<Error>& problems = parsed.configuration.problems;
  const config::Values& values = parsed.configuration.values;
  if (problems.empty()) {
    // An inherited socket takes the place of the address.
    const char* inherited = std::getenv("LISTEN_FDS");
    const config::Place place = {
        default_run_dir(), inherited != nullptr && std::atoi(inherited) > 0, memory_limit().bytes};
    std::ranges::move(config::find_contradictions(values, place), std::back_inserter(problems));
  }
  if (problems.empty()) {
    parsed.options = defaults_of_machine();
    for (const auto& [name, value] : values) takers().at(name)(parsed.options, value);
    finish(values, parsed.options);
    const auto kernels = kernels_for(parsed.options.isa);
    if (!kernels.ok()) {
      problems.push_back(invalid_argument(values.at("isa").origin, kernels.error().message));
    }
  }
  for (const Error& problem : problems) {
    std::cerr << "cascaded: " << sanitized(problem.to_string()) << std::endl;
  }
  for (const std::string& warning : parsed.configuration.warnings) {
    if (line.check) std::cerr << "cascaded: warning: " << sanitized(warning) << std::endl;
  }
  if (line.check && problems.empty()) std::cerr << "cascaded: the settings are good" << std::endl;
  if (!problems.empty() || line.check) parsed.exit_code = problems.empty() ? 0 : kExitUsage;
  return parsed;
}

}  // namespace cascade
