// fork, exec, and Pings until one is answered. Waits are short steps that look for signals.
#include "bench/serve/daemon_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "base/endpoint.h"
#include "bench/serve/interrupt.h"
#include "bench/speed/samples.h"
#include "clients/cpp/client.h"

namespace cascade::serve {
namespace {

constexpr double kStartSecondsMax = 600;  // time for packing the weights of a large model
constexpr double kStopSecondsMax = 20;    // running requests have 5 s to end
constexpr int kStepMs = 10;
// The most bytes of a socket's path after the folder: a daemon's number, "/run/tenant-", a tenant,
// ".sock".
constexpr size_t kSocketNameBytes = 48;
constexpr int kExitUsage = 2;  // of cascaded

void wait_a_step() {
  ::poll(nullptr, 0, kStepMs);
}

// Runs in the child: does only what is safe between fork and exec.
[[noreturn]] void become(const char* program, char* const* arguments, const char* log,
                         pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(126);
  ::setpgid(0, 0);  // a terminal's Ctrl-C goes to us only; we stop the daemon
  const int in = ::open("/dev/null", O_RDONLY);
  const int out = ::open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (in < 0 || out < 0 || ::dup2(in, 0) < 0 || ::dup2(out, 1) < 0 || ::dup2(out, 2) < 0) {
    ::_exit(126);
  }
  ::execv(program, arguments);
  ::_exit(127);
}

}  // namespace

Result<std::unique_ptr<TemporaryFolder>> TemporaryFolder::create() {
  std::error_code error;
  const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
  if (error) return io_error("the folder for temporary files", error.value());
  std::string name = (parent / "cascade-bench-XXXXXX").string();
  if (name.size() + kSocketNameBytes > kSocketPathBytesMax) {
    return invalid_argument(
        "TMPDIR", "a socket below " + parent.string() + " would have a path of over 100 bytes");
  }
  if (::mkdtemp(name.data()) == nullptr) return io_error(name, errno);
  return std::unique_ptr<TemporaryFolder>(new TemporaryFolder(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

DaemonProcess::DaemonProcess(pid_t pid, const std::filesystem::path& folder)
    : pid_(pid), run_dir_(folder / "run"), log_(folder / "log") {}

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::start(const std::string& program,
                                                            std::vector<std::string> arguments,
                                                            const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return io_error(folder.string(), error.value());
  arguments.insert(arguments.begin(), {program, "--run-dir", (folder / "run").string()});
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  const std::string log = (folder / "log").string();
  const pid_t parent = ::getpid();
  const pid_t pid = ::fork();
  if (pid < 0) return io_error("fork", errno);
  if (pid == 0) become(program.c_str(), argv.data(), log.c_str(), parent);
  auto daemon = std::unique_ptr<DaemonProcess>(new DaemonProcess(pid, folder));
  RETURN_IF_ERROR(daemon->wait_until_serving());
  return daemon;
}

Status DaemonProcess::wait_until_serving(const std::string& tenant) {
  const double deadline = speed::now_s() + kStartSecondsMax;
  while (speed::now_s() < deadline) {
    RETURN_IF_ERROR(check_interrupted());
    RETURN_IF_ERROR(check_alive());
    if (client::Client::connect(endpoint(tenant), {.timeout_ms = 1000}).ok()) return {};
    wait_a_step();
  }
  return Error{ErrorCode::kDeadlineExceeded, "", "cascaded did not serve within 600 s"};
}

bool DaemonProcess::ended() {
  if (exit_code_ >= 0) return true;
  int status = 0;
  if (::waitpid(pid_, &status, WNOHANG) != pid_) return false;
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return true;
}

Status DaemonProcess::check_alive() {
  if (!ended()) return {};
  return last_words();
}

Error DaemonProcess::last_words() const {
  std::string first, last;
  std::ifstream log(log_);
  for (std::string line; std::getline(log, line);) {
    if (first.empty()) first = line;
    if (!line.empty()) last = line;
  }
  if (exit_code_ == kExitUsage) {
    // The parser of the options writes its reason first, and then a line about --help. An error
    // that is found after parsing is the last line.
    const std::string& reason = last.starts_with("cascaded: ") ? last : first;
    return invalid_argument("--daemon-arg", "cascaded refuses its command line: " + reason);
  }
  return {ErrorCode::kUnavailable, "",
          "cascaded ended with exit code " + std::to_string(exit_code_) + ": " + last};
}

Error DaemonProcess::why_gone(const Error& otherwise) {
  const double deadline = speed::now_s() + 1;  // the socket closes before the process ends
  while (!ended() && speed::now_s() < deadline) wait_a_step();
  return ended() ? last_words() : otherwise;
}

void DaemonProcess::kill() {
  if (!ended()) ::kill(pid_, SIGKILL);
  while (!ended()) wait_a_step();
}

DaemonProcess::~DaemonProcess() {
  const double deadline = speed::now_s() + kStopSecondsMax;
  if (!ended()) ::kill(pid_, SIGTERM);
  while (!ended() && speed::now_s() < deadline) wait_a_step();
  if (ended()) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

std::string DaemonProcess::endpoint(const std::string& tenant) const {
  const std::string name = tenant.empty() ? "cascaded.sock" : "tenant-" + tenant + ".sock";
  return "ipc://" + (run_dir_ / name).string();
}

}  // namespace cascade::serve
