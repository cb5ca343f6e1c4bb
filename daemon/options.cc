// CLI11 does the parsing; what depends on several options is checked here.
#include "daemon/options.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "base/checked.h"
#include "daemon/run_dir.h"

namespace cascade {
namespace {

constexpr int64_t kKvBytesMin = int64_t{64} << 20;
constexpr int kThreadsMax = 256;  // what ThreadPool takes

// $XDG_RUNTIME_DIR/cascaded for a user's daemon, /run/cascaded for the system's.
std::string default_run_dir() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0' && ::geteuid() != 0) {
    return std::string(runtime) + "/cascaded";
  }
  return "/run/cascaded";
}

// $STATE_DIRECTORY of systemd (the first of a list), else cascade in the user's folder for state;
// empty if there is neither. Only absolute paths count, as the XDG specification has it.
std::string default_state_dir() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    std::string path = value == nullptr ? "" : value;
    return path.starts_with('/') ? path : std::string();
  };
  if (const std::string list = variable("STATE_DIRECTORY"); !list.empty()) {
    return list.substr(0, list.find(':'));
  }
  if (const std::string state = variable("XDG_STATE_HOME"); !state.empty()) {
    return state + "/cascade";
  }
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.local/state/cascade";
}

// The memory limit of this process's control group, or the largest number.
int64_t cgroup_memory_bytes() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  int64_t bytes = 0;
  return file >> bytes ? bytes : INT64_MAX;  // "max" is no number
}

template <class T>
CLI::Validator one_of(std::optional<T> (*parse)(std::string_view), const std::string& names) {
  const auto check = [parse, names](const std::string& text) {
    return parse(text) ? std::string() : "must be one of " + names;
  };
  return CLI::Validator(check, names);
}

// What depends on several options, or needs more than a look at the text.
Status finish(const CLI::App& app, const std::string& memory, DaemonOptions& options) {
  if (app.count("--kv-memory") > 0) {
    ASSIGN_OR_RETURN(options.kv_bytes_max, parse_bytes(memory));
  }
  if (options.run_dir.empty()) return invalid_argument("--run-dir", "must not be empty");
  const bool given = app.count("--endpoint") > 0;
  if (!given) options.endpoint = "ipc://" + options.run_dir + "/cascaded.sock";
  const Status endpoint = check_endpoint(options.endpoint);
  if (endpoint.ok()) return {};
  const char* option = given ? "--endpoint" : "--run-dir";
  return Error{endpoint.error().code, option, endpoint.error().message};
}

}  // namespace

Result<int64_t> parse_bytes(const std::string& text) {
  const Error bad = invalid_argument("--kv-memory",
                                     "must be a whole number of bytes from 1 to "
                                     "9223372036854775807, or of KiB, MiB or GiB with K, "
                                     "M or G behind it (512M, 4G), got \"" +
                                         text + "\"");
  int64_t number = 0;
  const char* end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number <= 0) return bad;
  const std::string_view suffix(unit, static_cast<size_t>(end - unit));
  int shift = 0;
  if (suffix == "K") shift = 10;
  if (suffix == "M") shift = 20;
  if (suffix == "G") shift = 30;
  if (!suffix.empty() && shift == 0) return bad;
  const auto bytes = checked_mul(number, int64_t{1} << shift);
  if (!bytes) return bad;
  return *bytes;
}

int64_t default_kv_bytes() {
  const auto physical = static_cast<int64_t>(::sysconf(_SC_PHYS_PAGES)) *
                        static_cast<int64_t>(::sysconf(_SC_PAGESIZE));
  return std::max(kKvBytesMin, std::min(physical, cgroup_memory_bytes()) / 2);
}

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  DaemonOptions& options = parsed.options;
  options.run_dir = default_run_dir();
  options.state_dir = default_state_dir();
  options.isa = best_isa();
  options.threads =
      std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kThreadsMax);
  options.kv_bytes_max = default_kv_bytes();
  std::string weights = "bf16", kv = "int8", isa(to_string(options.isa)), memory;

  CLI::App app("Cascade: an LLM inference daemon that keeps and reuses what it computed.",
               "cascaded");
  app.set_version_flag("--version", "cascaded " CASCADE_VERSION);
  app.footer(
      "Exit codes: 0 stopped by SIGINT, SIGTERM or SIGHUP; 1 it could not start or go on; 2 the "
      "command line is wrong.");
  app.add_option("--model", options.model_dir, "folder of the model (Hugging Face layout)")
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "must not be empty" : ""; }, "DIR"))
      ->required();
  app.add_option("--run-dir", options.run_dir, "folder of the socket")->capture_default_str();
  app.add_option("--state-dir", options.state_dir,
                 "folder of what is kept for the next start: packed weights (empty: nothing)")
      ->capture_default_str();
  app.add_option("--endpoint", options.endpoint,
                 "where clients connect (ipc://PATH; default: RUN_DIR/cascaded.sock)");
  app.add_option("--weights", weights, "number type of the weights")
      ->check(one_of(weight_type_from_string, "f32, bf16, int8, int4"))
      ->capture_default_str();
  app.add_option("--kv", kv, "number type of the KV cache")
      ->check(one_of(kv_type_from_string, "f32, bf16, fp16, fp8, int8"))
      ->capture_default_str();
  app.add_option("--isa", isa, "instruction set of the kernels")
      ->check(one_of(isa_from_string, "scalar, avx2, avx512, avx512vnni, openblas"))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads that compute")
      ->check(CLI::Range(1, kThreadsMax))
      ->capture_default_str();
  app.add_option("--kv-memory", memory,
                 "most memory for KV pages: bytes, or 512M, 4G (default: half of the machine's)");
  app.add_option("--max-waiting", options.requests_waiting_max, "requests that may wait")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-running", options.requests_running_max, "requests that run together")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--max-tokens", options.max_tokens_default,
                 "tokens of an answer whose request sets no limit")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : kExitUsage;
    return parsed;
  }
  options.weight_type = *weight_type_from_string(weights);
  options.kv_type = *kv_type_from_string(kv);
  options.isa = *isa_from_string(isa);
  if (const Status finished = finish(app, memory, options); !finished.ok()) {
    std::cerr << "cascaded: " << finished.error().to_string() << std::endl;
    parsed.exit_code = kExitUsage;
  }
  return parsed;
}

}  // namespace cascade
