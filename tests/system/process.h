// Programs of the build, started as a user would start them.
#pragma once

#include <sys/types.h>

#include <filesystem>
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

// A cascaded process. Killed by the destructor if it still runs.
class DaemonProcess {
 public:
  // Starts it on `run_dir` with the demo model or that of `model_dir`, and the state directory
  // `state_dir` or "state" beside `run_dir`. Waits until it serves or has ended.
  explicit DaemonProcess(const std::filesystem::path& run_dir,
                         const std::filesystem::path& model_dir = {},
                         const std::filesystem::path& state_dir = {});
  ~DaemonProcess();
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  bool serving() const { return serving_; }
  std::string endpoint() const;
  std::string log() const;
  // Sends the signal and waits for the end; the exit code, or 128 + the signal that ended it.
  int stop(int signal);

 private:
  std::filesystem::path run_dir_;
  std::filesystem::path log_path_;
  pid_t pid_ = -1;
  bool serving_ = false;
};

}  // namespace cascade::testing
