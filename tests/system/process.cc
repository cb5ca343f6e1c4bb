// fork, exec, wait.
#include "tests/system/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <sstream>

#include "base/random.h"
#include "tests/shared_dir.h"

namespace cascade::testing {
namespace {

std::string slurp(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

int exit_code_of(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

// In the child: standard streams to files, then the program.
[[noreturn]] void become(const std::string& program, const std::vector<std::string>& arguments,
                         const std::string& in, const std::string& out, const std::string& err) {
  const auto redirect = [](const std::string& path, int flags, int fd) {
    const int opened = ::open(path.c_str(), flags, 0600);
    if (opened < 0 || ::dup2(opened, fd) < 0) ::_exit(126);
  };
  redirect(in, O_RDONLY, 0);
  redirect(out, O_WRONLY | O_CREAT | O_TRUNC, 1);
  redirect(err, O_WRONLY | O_CREAT | O_TRUNC, 2);
  const std::string path = program_dir() / program;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
  ::_exit(127);
}

// Waits a moment for something to happen outside this process.
void wait_a_moment() {
  ::poll(nullptr, 0, 5);
}

}  // namespace

ScratchDir::ScratchDir()
    : path_(std::filesystem::path(::testing::TempDir()) / random_id("cascade").substr(0, 20)) {
  std::filesystem::create_directories(path_);
  std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
}

ScratchDir::~ScratchDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::string& input) {
  const ScratchDir scratch;
  const std::string in = scratch.path() / "in", out = scratch.path() / "out",
                    err = scratch.path() / "err";
  std::ofstream(in, std::ios::binary) << input;
  const pid_t pid = ::fork();
  if (pid == 0) become(program, arguments, in, out, err);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {exit_code_of(status), slurp(out), slurp(err)};
}

RunningProgram::RunningProgram(const std::string& program,
                               const std::vector<std::string>& arguments) {
  pid_ = ::fork();
  if (pid_ == 0) {
    become(program, arguments, "/dev/null", scratch_.path() / "out", scratch_.path() / "err");
  }
}

RunningProgram::~RunningProgram() {
  if (pid_ > 0) stop(SIGKILL);
}

std::string RunningProgram::out() const {
  return slurp(scratch_.path() / "out");
}

std::string RunningProgram::err() const {
  return slurp(scratch_.path() / "err");
}

int RunningProgram::stop(int signal) {
  ::kill(pid_, signal);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return exit_code_of(status);
}

bool wait_until(const std::function<bool()>& done) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    if (done()) return true;
    wait_a_moment();
  }
  return false;
}

DaemonProcess::DaemonProcess(const std::filesystem::path& run_dir,
                             const std::filesystem::path& model_dir,
                             const std::filesystem::path& state_dir,
                             const std::vector<std::string>& more, const std::string& failpoint)
    : run_dir_(run_dir), log_path_(run_dir.parent_path() / random_id("log").substr(0, 12)) {
  const auto& model = model_dir.empty() ? demo_model_dir() : model_dir;
  const auto state = state_dir.empty() ? run_dir.parent_path() / "state" : state_dir;
  std::vector<std::string> arguments = {"--model",        model.string(), "--run-dir",
                                        run_dir.string(), "--state-dir",  state.string()};
  arguments.insert(arguments.end(), more.begin(), more.end());
  // One thread is enough for the demo model, and leaves a core to the test on small machines.
  if (std::ranges::find(more, "--threads") == more.end()) {
    arguments.insert(arguments.end(), {"--threads", "1"});
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    if (!failpoint.empty()) ::setenv("CASCADE_FAILPOINT", failpoint.c_str(), 1);
    become("cascaded", arguments, "/dev/null", "/dev/null", log_path_);
  }
  // Sanitizer builds load the model slowly.
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (std::chrono::steady_clock::now() < deadline) {
    serving_ = log().find("serving at") != std::string::npos;
    if (serving_) return;
    if (ended_within(0)) return;
    wait_a_moment();
  }
}

DaemonProcess::~DaemonProcess() {
  if (pid_ > 0) stop(SIGKILL);
}

std::string DaemonProcess::endpoint() const {
  return "ipc://" + (run_dir_ / "cascaded.sock").string();
}

std::string DaemonProcess::log() const {
  return slurp(log_path_);
}

bool DaemonProcess::ended_within(int64_t wait_us) const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(wait_us);
  for (;;) {
    siginfo_t info = {};
    const int options = WEXITED | WNOHANG | WNOWAIT;
    if (::waitid(P_PID, static_cast<id_t>(pid_), &info, options) == 0 && info.si_pid == pid_) {
      return true;
    }
    if (std::chrono::steady_clock::now() >= deadline) return false;
    const timespec moment = {0, 500'000};
    ::ppoll(nullptr, 0, &moment, nullptr);
  }
}

int DaemonProcess::stop(int signal) {
  ::kill(pid_, signal);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return exit_code_of(status);
}

}  // namespace cascade::testing
