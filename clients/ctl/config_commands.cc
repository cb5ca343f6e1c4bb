// Reads files and environment as cascaded reads them.
#include "clients/ctl/config_commands.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "clients/ctl/run.h"
#include "clients/ctl/terminal_text.h"
#include "config/configuration.h"
#include "config/consistency.h"
#include "config/manual.h"

namespace cascade::ctl {
namespace {

constexpr char kSystemFile[] = "/etc/cascaded/cascaded.toml";
// The settings in a file are those of the service, so its run directory is used with them.
constexpr char kSystemRunDir[] = "/run/cascaded";

// The first of: --config; $CASCADED_CONFIG; the user's own file, if it exists and the user is not
// root; the system's file.
std::string file_of(const ConfigOptions& options) {
  if (!options.file.empty()) return options.file;
  if (std::string named = config::file_from_environment(); !named.empty()) return named;
  const char* folder = std::getenv("XDG_CONFIG_HOME");
  const char* home = std::getenv("HOME");
  std::string user;
  if (folder != nullptr && *folder == '/') {
    user = folder;
  } else if (home != nullptr) {
    user = std::string(home) + "/.config";
  }
  user += "/cascaded/cascaded.toml";
  std::error_code ignored;
  return ::geteuid() != 0 && std::filesystem::exists(user, ignored) ? user : kSystemFile;
}

// Whether no option or variable names a file, and no file exists at the usual places.
bool has_no_file(const ConfigOptions& options) {
  std::error_code failed;
  const bool named = !options.file.empty() || !config::file_from_environment().empty();
  return !named && !std::filesystem::exists(file_of(options), failed) && !failed;
}

config::Configuration of_environment() {
  config::Configuration configuration;
  config::add_environment(configuration, environ);
  return configuration;
}

config::Configuration read(const ConfigOptions& options) {
  config::Configuration configuration;
  config::add_files(configuration, file_of(options));
  config::add_environment(configuration, environ);
  return configuration;
}

// The memory of the machine; the service's control group may allow less.
int64_t memory_of_machine() {
  return static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
}

// Also finds the contradictions between settings that a daemon without other arguments would find.
config::Configuration read_together(const ConfigOptions& options) {
  config::Configuration configuration = read(options);
  if (!configuration.problems.empty()) return configuration;
  // The service manager may hold the sockets (cascaded.socket).
  configuration.problems = config::find_contradictions(
      configuration.values,
      {.run_dir = kSystemRunDir, .inherits_sockets = true, .memory_bytes = memory_of_machine()});
  return configuration;
}

// Prints all problems and warnings. Returns true if there are no problems.
bool print_problems(Screen& screen, const config::Configuration& configuration) {
  for (const std::string& warning : configuration.warnings) {
    screen.err << "warning: " << one_line(warning) << '\n';
  }
  for (const Error& problem : configuration.problems) print_error(screen, problem);
  screen.err << std::flush;
  return configuration.problems.empty();
}

OrderedJson json_of(const config::Setting& setting, const std::vector<std::string>& texts) {
  if (setting.kind == config::Kind::kList) return texts;
  if (texts.empty()) return nullptr;
  if (setting.kind == config::Kind::kInteger) return std::strtoll(texts[0].c_str(), nullptr, 10);
  if (setting.kind == config::Kind::kShare) return std::strtod(texts[0].c_str(), nullptr);
  return texts[0];
}

std::vector<std::string> fallback_of(const config::Setting& setting) {
  if (setting.fallback.empty()) return {};
  return {std::string(setting.fallback)};
}

}  // namespace

int run_config_check(Screen& screen, const ConfigOptions& options) {
  const config::Configuration configuration = read_together(options);
  if (!print_problems(screen, configuration)) return kExitUsage;
  if (screen.json) {
    OrderedJson object;
    object["files"] = configuration.files;
    object["settings"] = configuration.values.size();
    print_json(screen, object);
    return kExitOk;
  }
  for (const std::string& file : configuration.files) screen.out << one_line(file) << '\n';
  screen.out << configuration.values.size() << " settings: all is well" << std::endl;
  return kExitOk;
}

void find_setting_problems(std::vector<std::string>& files, std::vector<std::string>& problems) {
  std::error_code ignored;
  if (!std::filesystem::exists(file_of({}), ignored)) return;
  const config::Configuration configuration = read_together({});
  files = configuration.files;
  for (const Error& problem : configuration.problems) problems.push_back(problem.to_string());
}

int run_config_show(Screen& screen, const ConfigOptions& options) {
  const bool no_file = has_no_file(options);
  const config::Configuration configuration = no_file ? of_environment() : read(options);
  if (!print_problems(screen, configuration)) return kExitUsage;
  if (no_file && !screen.json) {
    screen.out << "# There is no " << kSystemFile << ": these are the defaults.\n";
  }
  OrderedJson object = OrderedJson::object();
  for (const config::Setting& setting : config::settings()) {
    const auto given = configuration.values.find(setting.name);
    const bool is_default = given == configuration.values.end();
    const auto texts = is_default ? fallback_of(setting) : given->second.texts;
    const std::string origin = is_default ? "default" : given->second.origin;
    if (screen.json) {
      object[key_of(setting)] = {{"value", json_of(setting, texts)}, {"origin", origin}};
      continue;
    }
    // A default that depends on the machine has no value to show.
    if (is_default && !setting.computed.empty()) {
      screen.out << '#' << config::key_of(setting) << ": " << setting.computed << '\n';
    } else {
      screen.out << one_line(config::assignment(setting, texts)) << "  # " << one_line(origin)
                 << '\n';
    }
  }
  if (screen.json) print_json(screen, object);
  screen.out << std::flush;
  return kExitOk;
}

int run_config_manual(Screen& screen, const ConfigOptions& options) {
  screen.out << (options.page ? config::manual_page() : config::manual_file(options.model))
             << std::flush;
  return kExitOk;
}

}  // namespace cascade::ctl
