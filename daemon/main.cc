// cascaded: the service.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>

#include "base/failpoint.h"
#include "daemon/daemon.h"

namespace {

// Cores would hold prompts.
void forbid_cores() {
  const rlimit none = {0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
}

// Before the daemon serves nothing has to end in good order: a load leaves nothing half done.
void end_at_once(int) {
  constexpr char kText[] = "stopped before it served\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kText, sizeof kText - 1);
  ::_exit(0);
}

// `read_again`: what parse_options() says now.
cascade::Result<int> run(const cascade::ParsedOptions& parsed,
                         const std::function<cascade::ParsedOptions()>& read_again) {
  cascade::ServiceManager manager;
  auto sockets = cascade::InheritedSockets::take();
  if (!sockets.ok()) return sockets.error();
  cascade::Surroundings around = {manager, *std::move(sockets), {}};
  // Others have nothing to read again.
  if (!parsed.config_file.empty() || manager.present()) around.read_again = read_again;
  std::signal(SIGINT, end_at_once);
  std::signal(SIGTERM, end_at_once);
  auto exit_code = cascade::run_daemon(
      parsed, around, [&] { spdlog::info("serving at {}", parsed.options.endpoint); });
  if (!exit_code.ok()) manager.status(exit_code.error().to_string());
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
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
  // Writing to what is closed, or beyond a limit of file sizes, is an error like others.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("cascaded"));
  spdlog::set_pattern("%Y-%m-%d %H:%M:%S.%e %l %v");
  spdlog::set_level(spdlog::level::from_str(parsed.options.log_level));
  for (const std::string& warning : parsed.configuration.warnings) spdlog::warn("{}", warning);
  try {
    const auto exit_code = run(parsed, [&] { return cascade::parse_options(argc, argv); });
    if (exit_code.ok()) return *exit_code;
    std::fprintf(stderr, "cascaded: %s\n", exit_code.error().to_string().c_str());
    if (exit_code.error().field.starts_with("--")) return cascade::kExitUsage;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "cascaded: %s\n", error.what());
  }
  return cascade::kExitFailed;
}
