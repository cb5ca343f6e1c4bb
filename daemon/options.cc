// CLI11 does the parsing; what depends on several options is checked here.
#include "daemon/options.h"

#include <unistd.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "actors/http/listener.h"
#include "actors/scheduler/tenant.h"
#include "base/checked.h"
#include "daemon/run_dir.h"
#include "persist/state_directory.h"

namespace cascade {
namespace {

constexpr int64_t kKvBytesMin = int64_t{64} << 20;
constexpr int kThreadsMax = 256;        // what ThreadPool takes
constexpr size_t kTenantsMax = 64;      // each has a thread and a socket
constexpr size_t kTenantBytesMax = 32;  // of a name: it is part of a path of 107 bytes

// $XDG_RUNTIME_DIR/cascaded for a user's daemon, /run/cascaded for the system's.
std::string default_run_dir() {
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && *runtime != '\0' && ::geteuid() != 0) {
    return std::string(runtime) + "/cascaded";
  }
  return "/run/cascaded";
}

// The memory limit of this process's control group, or the largest number.
int64_t cgroup_memory_bytes() {
  std::ifstream file("/sys/fs/cgroup/memory.max");
  int64_t bytes = 0;
  return file >> bytes ? bytes : INT64_MAX;  // "max" is no number
}

// Names are parts of file names and of what is printed.
Status check_tenants(const std::vector<std::string>& tenants, const std::string& run_dir) {
  if (tenants.size() > kTenantsMax) {
    return invalid_argument("--tenant", "is there " + std::to_string(tenants.size()) +
                                            " times; the limit is " + std::to_string(kTenantsMax));
  }
  for (size_t i = 0; i < tenants.size(); ++i) {
    const std::string& name = tenants[i];
    const bool plain =
        name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == name.npos;
    if (name.empty() || name.size() > kTenantBytesMax || !plain) {
      return invalid_argument("--tenant", "must have 1 to " + std::to_string(kTenantBytesMax) +
                                              " of a-z, 0-9, _ and -, got \"" + name + '"');
    }
    const bool again = std::count(tenants.begin(), tenants.end(), name) > 1;
    if (again || name == kLocalTenant) {
      return invalid_argument("--tenant", '"' + name + "\" is there already");
    }
    const Status endpoint = check_endpoint(tenant_endpoint(run_dir, name));
    if (!endpoint.ok()) return invalid_argument("--tenant", endpoint.error().message);
  }
  return {};
}

template <class T>
CLI::Validator one_of(std::optional<T> (*parse)(std::string_view), const std::string& names) {
  const auto check = [parse, names](const std::string& text) {
    return parse(text) ? std::string() : "must be one of " + names;
  };
  return CLI::Validator(check, names);
}

// CLI::Range takes NaN.
CLI::Validator share() {
  const auto check = [](const std::string& text) {
    double value = -1;
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    const bool good = error == std::errc() && stop == end && value >= 0 && value <= 1;
    return good ? std::string() : "must be a number from 0 to 1, got " + text;
  };
  return CLI::Validator(check, "SHARE");
}

// As they stand on the command line.
struct TypeNames {
  std::string weights = "bf16", kv = "int8", isa;
};

struct Sizes {
  std::string memory, disk;
};

void add_compute_options(CLI::App& app, DaemonOptions& options, TypeNames& types) {
  app.add_option("--weights", types.weights, "number type of the weights")
      ->check(one_of(weight_type_from_string, "f32, bf16, int8, int4"))
      ->capture_default_str();
  app.add_option("--kv", types.kv, "number type of the KV cache")
      ->check(one_of(kv_type_from_string, "f32, bf16, fp16, fp8, int8"))
      ->capture_default_str();
  app.add_option("--isa", types.isa, "instruction set of the kernels")
      ->check(one_of(isa_from_string, "scalar, avx2, avx512, avx512vnni, openblas"))
      ->capture_default_str();
  app.add_option("--threads", options.threads, "threads that compute")
      ->check(CLI::Range(1, kThreadsMax))
      ->capture_default_str();
}

void add_cache_options(CLI::App& app, DaemonOptions& options, Sizes& sizes) {
  app.add_option("--kv-memory", sizes.memory,
                 "most memory for KV pages: bytes, or 512M, 4G (default: half of the machine's)");
  app.add_option("--max-disk", sizes.disk,
                 "most disk space for KV pages in --state-dir: bytes, or 512M, 4G; beyond it those "
                 "not used for longest go, but none of pinned chunks")
      ->default_str("10G");
  const auto set_eviction = [&options](const std::string& name) {
    options.eviction = *eviction_policy_from_string(name);
  };
  app.add_option_function<std::string>("--eviction", set_eviction,
                                       "which pages go first when memory is full")
      ->check(one_of(eviction_policy_from_string, "lru, lfu, priority, hybrid, adaptive"))
      ->default_str("hybrid");
  const auto set_think_policy = [&options](const std::string& name) {
    options.think_policy = *think_policy_from_string(name);
  };
  app.add_option_function<std::string>("--think-policy", set_think_policy,
                                       "what is kept of an output with thoughts, unless a request "
                                       "says otherwise: the answer, all, or nothing")
      ->check(one_of(think_policy_from_string, "reprefill, keep, drop"))
      ->default_str("reprefill");
  app.add_option("--max-pinned", options.max_pinned,
                 "share of the KV pages that pinned chunks may keep from eviction")
      ->check(share())
      ->capture_default_str();
  app.add_option("--chunk-memory-ratio", options.chunk_memory_ratio,
                 "share of the KV pages that retained chunks may hold; beyond it the least "
                 "valuable let go")
      ->check(share())
      ->capture_default_str();
}

void add_http_options(CLI::App& app, DaemonOptions& options) {
  app.add_option("--http", options.http_address,
                 "serve HTTP at ADDRESS:PORT, at PORT of 127.0.0.1, or at unix:PATH (default: not: "
                 "whoever can connect may use a port without keys)");
  app.add_option("--http-keys", options.http_keys_file,
                 "file of API keys (cascadectl key new); needed to serve beyond this machine");
  app.add_option("--http-host", options.http_hosts,
                 "another name that HTTP clients may call this machine by");
}

// A port alone is one of this machine.
Status check_http(DaemonOptions& options) {
  std::string& address = options.http_address;
  if (address.empty()) {
    if (!options.http_keys_file.empty()) return invalid_argument("--http-keys", "needs --http");
    if (!options.http_hosts.empty()) return invalid_argument("--http-host", "needs --http");
    return {};
  }
  if (address.find_first_not_of("0123456789") == std::string::npos) {
    address = "127.0.0.1:" + address;
  }
  const auto local = is_local_address(address);
  if (!local.ok()) return invalid_argument("--http", local.error().message);
  if (*local || !options.http_keys_file.empty()) return {};
  return invalid_argument("--http", address +
                                        " can be reached from other machines; that needs "
                                        "--http-keys");
}

void add_queue_options(CLI::App& app, DaemonOptions& options) {
  app.add_option("--max-waiting", options.requests_waiting_max, "requests that may wait")
      ->check(CLI::Range(1, 100'000))
      ->capture_default_str();
  app.add_option("--max-waiting-tokens", options.tokens_waiting_max,
                 "tokens that the prompts of waiting requests may have in all (one may have more)")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 40))
      ->capture_default_str();
  app.add_option("--max-running", options.requests_running_max, "requests that run together")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option(
         "--stop-timeout", options.stop_timeout_s,
         "seconds that a stop may take: running requests may end, what they leave is written")
      ->check(CLI::Range(1, 3600))
      ->capture_default_str();
  app.add_option("--max-tokens", options.max_tokens_default,
                 "tokens of an answer whose request sets no limit")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
}

// What depends on several options, or needs more than a look at the text.
Status finish(const CLI::App& app, const Sizes& sizes, DaemonOptions& options) {
  if (app.count("--kv-memory") > 0) {
    ASSIGN_OR_RETURN(options.kv_bytes_max, parse_bytes("--kv-memory", sizes.memory));
  }
  if (app.count("--max-disk") > 0) {
    ASSIGN_OR_RETURN(options.disk_bytes_max, parse_bytes("--max-disk", sizes.disk));
  }
  if (options.run_dir.empty()) return invalid_argument("--run-dir", "must not be empty");
  RETURN_IF_ERROR(check_tenants(options.tenants, options.run_dir));
  RETURN_IF_ERROR(check_http(options));
  const bool given = app.count("--endpoint") > 0;
  if (!given) options.endpoint = "ipc://" + options.run_dir + "/cascaded.sock";
  const Status endpoint = check_endpoint(options.endpoint);
  if (endpoint.ok()) return {};
  const char* option = given ? "--endpoint" : "--run-dir";
  return Error{endpoint.error().code, option, endpoint.error().message};
}

}  // namespace

Result<int64_t> parse_bytes(const std::string& option, const std::string& text) {
  const Error bad = invalid_argument(option,
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

std::string tenant_endpoint(const std::string& run_dir, const std::string& tenant) {
  return "ipc://" + run_dir + "/tenant-" + tenant + ".sock";
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
  TypeNames types;
  types.isa = to_string(options.isa);
  Sizes sizes;

  CLI::App app("Cascade: an LLM inference daemon that keeps and reuses what it computed.",
               "cascaded");
  app.set_version_flag("--version", "cascaded " CASCADE_VERSION);
  app.footer(
      "Exit codes: 0 stopped by SIGINT, SIGTERM or SIGHUP; 1 it could not start or go on; 2 the "
      "command line is wrong.");
  app.add_option("--model", options.model_dir, "folder of the model, or a GGUF file")
      ->check(CLI::Validator(
          [](const std::string& text) { return text.empty() ? "must not be empty" : ""; }, "DIR"))
      ->required();
  app.add_option("--run-dir", options.run_dir, "folder of the socket")->capture_default_str();
  app.add_option(
         "--state-dir", options.state_dir,
         "folder of what outlives the daemon: chunks, KV pages, packed weights (empty: nothing)")
      ->capture_default_str();
  app.add_option("--endpoint", options.endpoint,
                 "where clients connect (ipc://PATH; default: RUN_DIR/cascaded.sock)");
  app.add_option("--tenant", options.tenants,
                 "another tenant: RUN_DIR/tenant-NAME.sock, whose chunks and pages are its own");
  add_http_options(app, options);
  add_compute_options(app, options, types);
  add_cache_options(app, options, sizes);
  add_queue_options(app, options);
  app.add_option("--log-level", options.log_level, "debug, info, warn or error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = app.exit(error) == 0 ? 0 : kExitUsage;
    return parsed;
  }
  options.weight_type = *weight_type_from_string(types.weights);
  options.kv_type = *kv_type_from_string(types.kv);
  options.isa = *isa_from_string(types.isa);
  if (const Status finished = finish(app, sizes, options); !finished.ok()) {
    std::cerr << "cascaded: " << finished.error().to_string() << std::endl;
    parsed.exit_code = kExitUsage;
  }
  return parsed;
}

}  // namespace cascade
