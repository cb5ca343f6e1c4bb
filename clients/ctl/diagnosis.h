// cascadectl doctor's judgement of the facts about the machine and the daemon.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "wire/messages.h"

namespace cascade::ctl {

// Sizes are in bytes; nullopt means that a fact is not known here.
struct MachineFacts {
  std::optional<int64_t> memory_available_bytes;
  std::optional<int64_t> swap_used_bytes;
  std::optional<int64_t> state_free_bytes;  // in the file system of the state directory
  std::optional<int> threads;               // hardware threads
  std::optional<std::string> huge_pages;    // "always", "madvise" or "never"
};

struct DaemonFacts {
  std::string endpoint;
  std::optional<Error> unreachable;
  std::optional<wire::Loading> loading;  // set if the daemon is loading and does not serve yet
  std::optional<wire::StatusReply> status;
  std::optional<Error> answer;                 // set if the daemon did not answer the test prompt
  std::optional<int64_t> answer_us;            // else the time to the first token of the answer
  std::vector<std::string> settings_problems;  // in the settings files on this machine
  std::vector<std::string> settings_files;
};

struct Finding {
  enum class Level { kGood, kHint, kProblem };
  Level level = Level::kGood;
  std::string text;  // one sentence; a hint or a problem says what to do
};

// The findings, in an order for a reader who starts at the daemon. `version` is cascadectl's.
std::vector<Finding> diagnose(const DaemonFacts& daemon, const MachineFacts& machine,
                              const std::string& version);

}  // namespace cascade::ctl
