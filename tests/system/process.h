// Programs of the build, started as a user would start them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace cascade::testing {

// A folder of its own below the test's temporary folder, removed in the end.
class ScratchDir {
 public:
  ScratchDir();
  ~ScratchDir();
  ScratchDir(const ScratchDir&) = delete;
  ScratchDir& operator=(const ScratchDir&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

struct ProgramResult {
  int exit_code = -1;  // or 128 + signal
  std::string out;
  std::string err;
};

// Runs build/<preset>/bin/<program> to its end, with `input` as standard input.
ProgramResult run_program(const std::string& program, const std::vector<std::string>& arguments,
                          const std::string& input = "");

// A program that runs beside the test. Killed by the destructor if it still runs.
class RunningProgram {
 public:
  RunningProgram(const std::string& program, const std::vector<std::string>& arguments);
  ~RunningProgram();
  RunningProgram(const RunningProgram&) = delete;
  RunningProgram& operator=(const RunningProgram&) = delete;

  pid_t pid() const { return pid_; }
  std::string out() const;
  std::string err() const;
  // Sends the signal and waits for the end; the exit code, or 128 + the signal that ended it.
  int stop(int signal);

 private:
  ScratchDir scratch_;
  pid_t pid_ = -1;
};

// Waits until `done`; false if that takes a minute.
bool wait_until(const std::function<bool()>& done);

// A cascaded process. Killed by the destructor if it still runs.
class DaemonProcess {
 public:
  // Starts a daemon on `run_dir` with the demo model or the model in `model_dir`, and with the
  // state directory `state_dir` or "state" beside `run_dir`. Waits until it serves or has ended.
  // `more`: further arguments; `failpoint`: its CASCADE_FAILPOINT, if not empty.
  explicit DaemonProcess(const std::filesystem::path& run_dir,
                         const std::filesystem::path& model_dir = {},
                         const std::filesystem::path& state_dir = {},
                         const std::vector<std::string>& more = {},
                         const std::string& failpoint = "");
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  bool serving() const { return serving_; }
  pid_t pid() const { return pid_; }
  std::string endpoint() const;
  std::string log() const;
  // Waits at most `wait_us` for the daemon's end; returns whether it has ended. stop() says how.
  bool ended_within(int64_t wait_us) const;
  // Sends the signal and waits for the end; the exit code, or 128 + the signal that ended it.
  int stop(int signal);

 private:
  std::filesystem::path run_dir_;
  std::filesystem::path log_path_;
  pid_t pid_ = -1;
  bool serving_ = false;
};

}  // namespace cascade::testing
