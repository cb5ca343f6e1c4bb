// One function for each subject that is checked.
#include "clients/ctl/diagnosis.h"

#include "base/counted.h"
#include "wire/loading.h"

namespace cascade::ctl {
namespace {

using Level = Finding::Level;

// With less free space the store cannot take much; SQLite and a file of pages need some at once.
constexpr int64_t kStateFreeBytesMin = int64_t{1} << 30;
// Some pages of idle programs are always swapped out.
constexpr int64_t kSwapUsedBytesMax = int64_t{256} << 20;

std::string mib(int64_t bytes) {
  return std::to_string(bytes >> 20) + " MiB";
}

void judge_daemon(const DaemonFacts& daemon, const std::string& version,
                  std::vector<Finding>& findings) {
  if (daemon.loading) {
    findings.push_back({Level::kHint, "the daemon at " + daemon.endpoint + " is " +
                                          wire::loading_text(*daemon.loading) +
                                          ": look again when it serves"});
    return;
  }
  if (daemon.unreachable) {
    findings.push_back({Level::kProblem, "no daemon answers at " + daemon.endpoint + ": " +
                                             daemon.unreachable->message});
    return;
  }
  const wire::StatusReply& status = *daemon.status;
  findings.push_back({Level::kGood, "cascaded " + status.version + " at " + daemon.endpoint +
                                        " serves " + status.model + " (" + status.weight_type +
                                        " weights, " + status.kv_type + " KV, " + status.isa +
                                        ")"});
  if (status.version != version) {
    findings.push_back({Level::kHint, "cascadectl is version " + version +
                                          ": restart the daemon, or install both alike"});
  }
  for (const std::string& warning : status.warnings) {
    findings.push_back({Level::kProblem, "the daemon warns: " + warning});
  }
  if (!status.actors_restarted.empty()) {
    findings.push_back({Level::kProblem, "parts of the daemon failed and were restarted " +
                                             counted(status.actors_restarted.size(), "time") +
                                             ": its log says why"});
  }
  if (daemon.answer) {
    findings.push_back({Level::kProblem, "it does not answer a prompt: " + daemon.answer->message});
  } else if (daemon.answer_us) {
    findings.push_back({Level::kGood, "it answers a prompt (" +
                                          std::to_string(*daemon.answer_us / 1000) + " ms)"});
  }
}

void judge_settings(const DaemonFacts& daemon, std::vector<Finding>& findings) {
  for (const std::string& problem : daemon.settings_problems) {
    findings.push_back({Level::kProblem, "settings: " + problem});
  }
  if (!daemon.settings_problems.empty()) return;
  for (const std::string& file : daemon.settings_files) {
    findings.push_back({Level::kGood, file + " has no mistakes"});
  }
}

void judge_memory(const wire::StatusReply& status, const MachineFacts& machine,
                  std::vector<Finding>& findings) {
  if (machine.memory_available_bytes) {
    const int64_t wanted = status.kv_bytes_max - status.kv_bytes_used;
    const bool fits = wanted <= *machine.memory_available_bytes;
    const std::string text = "K and V may take another " + mib(wanted) + " of memory; " +
                             mib(*machine.memory_available_bytes) + " are available";
    findings.push_back(fits ? Finding{Level::kGood, text}
                            : Finding{Level::kHint, text + ": lower kv_memory, or the machine may "
                                                           "run out of it"});
  }
  if (machine.swap_used_bytes.value_or(0) > kSwapUsedBytesMax) {
    findings.push_back({Level::kHint, mib(*machine.swap_used_bytes) +
                                          " are swapped out: a page that comes back from swap is "
                                          "slower than computing it"});
  }
  if (machine.huge_pages == "never") {
    findings.push_back({Level::kHint,
                        "transparent huge pages are off: long prompts are slower; write madvise "
                        "to /sys/kernel/mm/transparent_hugepage/enabled"});
  }
}

void judge_machine(const wire::StatusReply& status, const MachineFacts& machine,
                   std::vector<Finding>& findings) {
  judge_memory(status, machine, findings);
  if (machine.threads && status.threads > *machine.threads) {
    findings.push_back({Level::kHint, counted(status.threads, "thread") + " compute on " +
                                          std::to_string(*machine.threads) +
                                          " hardware threads: this makes everything slower"});
  }
  if (machine.state_free_bytes && *machine.state_free_bytes < kStateFreeBytesMin) {
    findings.push_back({Level::kProblem, "the state directory has " +
                                             mib(*machine.state_free_bytes) +
                                             " left: make room, or lower max_disk"});
  }
}

}  // namespace

std::vector<Finding> diagnose(const DaemonFacts& daemon, const MachineFacts& machine,
                              const std::string& version) {
  std::vector<Finding> findings;
  judge_daemon(daemon, version, findings);
  judge_settings(daemon, findings);
  if (daemon.status) judge_machine(*daemon.status, machine, findings);
  return findings;
}

}  // namespace cascade::ctl
