// What cascadectl doctor makes of what it found on the machine and heard from the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// Bytes; nullopt: not known here.
struct MachineFacts {
  std::optional<int64_t> memory_available_bytes;
  std::optional<int64_t> swap_used_bytes;
  std::optional<int64_t> state_free_bytes;  // of the file system of the state directory
  std::optional<int> threads;               // of the hardware
  std::optional<std::string> huge_pages;    // "always", "madvise" or "never"
};

struct DaemonFacts {
  std::string endpoint;
  std::optional<Error> unreachable;
  std::optional<wire::Loading> loading;  // it does not serve yet
  std::optional<wire::StatusReply> status;
  std::optional<Error> answer;                 // of a prompt that it was asked to go on with
  std::optional<int64_t> answer_us;            // how long that took
  std::vector<std::string> settings_problems;  // of the files of settings on this machine
  std::vector<std::string> settings_files;
};

struct Finding {
  enum class Level { kGood, kHint, kProblem };
  Level level = Level::kGood;
  std::string text;  // one sentence; a hint or a problem says what to do
};

// In the order of a reader who starts at the daemon. `version`: cascadectl's.
std::vector<Finding> diagnose(const DaemonFacts& daemon, const MachineFacts& machine,
                              const std::string& version);

}  // namespace cascade::ctl
