// Reads the lines "key: value" of /proc's files.
#include "bench/speed/machine.h"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace cascade::speed {
namespace {

std::string proc_file(const char* path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return std::move(text).str();
}

}  // namespace

std::string proc_value(std::string_view text, std::string_view key) {
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const size_t key_end = line.find_last_not_of(" \t", colon - 1) + 1;
    if (line.compare(0, key_end, key) != 0) continue;
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    return begin == std::string::npos ? "" : line.substr(begin);
  }
  return "";
}

std::string cpu_name() {
  return proc_value(proc_file("/proc/cpuinfo"), "model name");
}

std::optional<int64_t> available_memory_bytes() {
  const std::string kilobytes = proc_value(proc_file("/proc/meminfo"), "MemAvailable");
  if (kilobytes.empty()) return std::nullopt;
  return std::atoll(kilobytes.c_str()) * 1024;
}

Status fits_memory(double bytes, const std::string& option, const std::string& what) {
  const auto available = available_memory_bytes();
  if (!available || bytes <= static_cast<double>(*available)) return {};
  std::ostringstream megabytes;
  megabytes.precision(0);
  megabytes << std::fixed << bytes / 1e6;
  return resource_exhausted(option, what + " takes " + megabytes.str() + " MB; the machine has " +
                                        std::to_string(*available / 1'000'000) + " MB left");
}

int64_t peak_memory_bytes() {
  return std::atoll(proc_value(proc_file("/proc/self/status"), "VmHWM").c_str()) * 1024;
}

void reset_peak_memory() {
  std::ofstream("/proc/self/clear_refs") << "5";  // resets VmHWM; if it cannot, VmHWM stays
}

}  // namespace cascade::speed
