// Gathers the facts; diagnosis.cc judges them.
#include "clients/ctl/doctor.h"

#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "clients/ctl/config_commands.h"
#include "clients/ctl/diagnosis.h"
#include "clients/ctl/loading_wait.h"
#include "clients/ctl/run.h"
#include "clients/ctl/terminal_text.h"
#include "clients/ctl/word_wrap.h"
#include "persist/state_directory.h"

namespace cascade::ctl {
namespace {

constexpr char kHugePages[] = "/sys/kernel/mm/transparent_hugepage/enabled";

// The value of a line of /proc/meminfo like "MemAvailable:   12345 kB", in bytes.
std::optional<int64_t> meminfo(const std::string& name) {
  std::ifstream file("/proc/meminfo");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    int64_t kib = 0;
    if (words >> key >> kib && key == name + ":") return kib * 1024;
  }
  return std::nullopt;
}

// The word in brackets of "always [madvise] never".
std::optional<std::string> huge_pages() {
  std::ifstream file(kHugePages);
  for (std::string word; file >> word;) {
    if (word.front() == '[' && word.back() == ']') return word.substr(1, word.size() - 2);
  }
  return std::nullopt;
}

std::optional<int64_t> free_bytes(const std::string& folder) {
  struct statvfs status {};
  if (folder.empty() || ::statvfs(folder.c_str(), &status) != 0) return std::nullopt;
  return static_cast<int64_t>(status.f_bavail * status.f_frsize);
}

// The service's state directory if the service is the daemon that is asked, else the default one of
// this user's daemon.
std::string state_dir_of(const std::string& endpoint) {
  constexpr char kOfService[] = "/var/lib/cascaded";
  std::error_code ignored;
  const bool service = endpoint.starts_with("ipc:///run/cascaded/");
  return service && std::filesystem::exists(kOfService, ignored) ? kOfService : default_state_dir();
}

MachineFacts look_at_machine(const std::string& endpoint) {
  MachineFacts machine;
  machine.memory_available_bytes = meminfo("MemAvailable");
  const auto total = meminfo("SwapTotal"), free = meminfo("SwapFree");
  if (total && free) machine.swap_used_bytes = *total - *free;
  machine.state_free_bytes = free_bytes(state_dir_of(endpoint));
  machine.threads = static_cast<int>(std::thread::hardware_concurrency());
  machine.huge_pages = huge_pages();
  return machine;
}

void ask_daemon(const std::string& endpoint, DaemonFacts& facts) {
  auto client = connect_to_look(endpoint, /*model=*/"", facts.loading);
  if (!client.ok()) {
    if (!client::is_loading(client.error())) facts.unreachable = client.error();
    return;
  }
  const auto status = client->status();
  if (!status.ok()) {
    facts.unreachable = status.error();
    return;
  }
  facts.status = *status;
  wire::GenerateRequest request;
  request.prompt = "1 2 3";
  request.max_tokens = 1;
  request.sampling.temperature = 0;
  const auto answer = client->generate(request);
  if (answer.ok()) {
    facts.answer_us = answer->timings.first_token_us;
  } else {
    facts.answer = answer.error();
  }
}

const char* name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::kGood: return "good";
    case Finding::Level::kHint: return "hint";
    case Finding::Level::kProblem: return "problem";
  }
  return "unknown";
}

void print_findings(Screen& screen, const std::vector<Finding>& findings) {
  if (screen.json) {
    OrderedJson list = OrderedJson::array();
    for (const Finding& finding : findings) {
      list.push_back({{"level", name_of(finding.level)}, {"text", finding.text}});
    }
    return print_json(screen, OrderedJson{{"findings", list}});
  }
  for (const Finding& finding : findings) {
    const std::string level = name_of(finding.level);
    constexpr int kLevelColumns = 9;
    const std::string mark = padded(level, kLevelColumns, /*to_the_right=*/false);
    const Style& style = screen.style;
    const std::string text = wrapped_behind(kLevelColumns, one_line(finding.text), style.columns());
    screen.out << (finding.level == Finding::Level::kProblem ? style.error(mark)
                   : finding.level == Finding::Level::kHint  ? style.input(mark)
                                                             : style.output(mark))
               << text << '\n';
  }
  screen.out << std::flush;
}

}  // namespace

int run_doctor(Screen& screen, const Options& options) {
  DaemonFacts facts;
  facts.endpoint = options.endpoint;
  ask_daemon(options.endpoint, facts);
  const bool local = options.endpoint.starts_with("ipc://");
  if (local) find_setting_problems(facts.settings_files, facts.settings_problems);
  const std::vector<Finding> findings =
      diagnose(facts, local ? look_at_machine(options.endpoint) : MachineFacts(), CASCADE_VERSION);
  print_findings(screen, findings);
  const bool problem = std::ranges::any_of(
      findings, [](const Finding& f) { return f.level == Finding::Level::kProblem; });
  return problem ? kExitFailed : kExitOk;
}

}  // namespace cascade::ctl
