// cascaded: the service.
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <new>

#include "base/failpoint.h"
#include "base/memory_limit.h"
#include "base/sanitized.h"
#include "daemon/daemon.h"
#include "daemon/log.h"

namespace {

// Core dumps would contain prompts.
void forbid_cores() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

constexpr char kNoMemory[] =
    "cascaded: out of memory: see --kv-memory, and the limits of the process (ulimit -v, "
    "MemoryMax= of the unit)\n";

// Called for an exception that nothing catches. A lack of memory is not a fault of the program: the
// process reports it and exits without a crash. Everything that was acknowledged is on disk.
[[noreturn]] void on_terminate() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::bad_alloc&) {
    [[maybe_unused]] const ssize_t written =
        ::write(STDERR_FILENO, kNoMemory, sizeof kNoMemory - 1);
    ::_exit(cascade::kExitFailed);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cascaded: %s\n", error.what());
  } catch (...) {
    std::fputs("cascaded: an exception of unknown type\n", stderr);
  }
  std::abort();
}

// Before the doors are open, nothing has to end in good order.
void end_at_once(int) {
  constexpr char kText[] = "stopped before it served\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(0);
}

// Says where the default of kv_memory came from: a user who finds the process killed for its memory
// looks here.
void log_memory(const cascade::ParsedOptions& parsed) {
  if (parsed.configuration.values.contains("kv-memory")) return;
  const cascade::MemoryLimit memory = cascade::memory_limit();
  spdlog::info("kv_memory is not set: pages may take {} MiB, half of the {} MiB that {}",
               parsed.options.kv_bytes_max >> 20, memory.bytes >> 20,
               memory.set_by.empty() ? "this machine has" : memory.set_by + " allows");
}

// `read_again` calls parse_options() again.
cascade::Result<int> run(const cascade::ParsedOptions& parsed,
                         const std::function<cascade::ParsedOptions()>& read_again) {
  cascade::ServiceManager manager;
  auto sockets = cascade::InheritedSockets::take();
  if (!sockets.ok()) return sockets.error();
  cascade::Surroundings around = {manager, *std::move(sockets), {}};
  // Without a configuration file or a service manager there is nothing to read again.
  if (!parsed.config_file.empty() || manager.present()) around.read_again = read_again;
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
  auto exit_code = cascade::run_daemon(parsed, around, [&] {
    log_memory(parsed);
    spdlog::info("serving at {}", parsed.options.endpoint);
  });
  if (!exit_code.ok()) manager.status(exit_code.error().to_string());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(on_terminate);
  const cascade::ParsedOptions parsed = cascade::parse_options(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  if (const char* moment = std::getenv("CASCADE_FAILPOINT")) {
    const cascade::Status armed = cascade::arm_failpoint(moment);
    if (!armed.ok()) {
      std::fprintf(stderr, "cascaded: %s\n", armed.error().to_string().c_str());
      return cascade::kExitUsage;
    }
  }
  forbid_cores();
  // A write to a closed pipe or socket, or beyond a limit of file sizes, is an error like any
  // other.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  cascade::set_up_log(parsed.options.log_level);
  for (const std::string& warning : parsed.configuration.warnings) spdlog::warn("{}", warning);
  try {
    const auto exit_code = run(parsed, [&] { return cascade::parse_options(argc, argv); });
    if (exit_code.ok()) return *exit_code;
    std::fprintf(stderr, "cascaded: %s\n",
                 cascade::sanitized(exit_code.error().to_string()).c_str());
    if (exit_code.error().field.starts_with("--")) return cascade::kExitUsage;
  } catch (const std::bad_alloc&) {
    std::fputs(kNoMemory, stderr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cascaded: %s\n", cascade::sanitized(error.what()).c_str());
  }
  return cascade::kExitFailed;
}
