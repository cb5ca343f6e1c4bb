// Reads /proc and calls getrusage.
#include "bench/serve/process_info.h"

#include <sys/resource.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "bench/speed/machine.h"

namespace cascade::serve {

ProcessMemory parse_memory(std::string_view text) {
  const auto bytes = [&](std::string_view key) {
    return int64_t{std::atoll(speed::proc_value(text, key).c_str())} * 1024;
  };
  return {bytes("VmRSS"), bytes("RssAnon")};
}

ProcessMemory memory_of(pid_t pid) {
  std::ostringstream text;
  text << std::ifstream("/proc/" + std::to_string(pid) + "/status").rdbuf();
  return parse_memory(text.view());
}

void add_memory(OrderedJson& row, const ProcessMemory& memory) {
  row["rss_mb"] = static_cast<double>(memory.resident_bytes) / 1e6;
  row["rss_anon_mb"] = static_cast<double>(memory.anonymous_bytes) / 1e6;
}

double own_cpu_s() {
  struct rusage usage = {};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace cascade::serve
