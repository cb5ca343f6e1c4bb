// Rounding that keeps two significant digits.
#include "clients/ctl/units.h"

#include <array>
#include <cstdio>
#include <ctime>
#include <utility>

namespace cascade::ctl {
namespace {

std::string rounded(double value) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), value < 9.95 ? "%.1f" : "%.0f", value);
  return text.data();
}

}  // namespace

std::string format_bytes(int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes);
  const std::array<const char*, 5> units = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  value /= 1024;
  // 1023.5 would be printed as 1024.
  while (value >= 1023.5 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  return rounded(value) + " " + units[unit];
}

std::string format_duration(int64_t us) {
  const int64_t s = us / 1'000'000;
  if (us < 1'000) return std::to_string(us) + " us";
  if (us < 1'000'000) return std::to_string(us / 1'000) + " ms";
  if (s < 60) return rounded(static_cast<double>(us) / 1e6) + " s";
  if (s < 3'600) return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  if (s < 86'400) return std::to_string(s / 3'600) + " h " + std::to_string(s / 60 % 60) + " min";
  return std::to_string(s / 86'400) + " d " + std::to_string(s / 3'600 % 24) + " h";
}

std::string format_ttl(int64_t ms) {
  constexpr std::array<std::pair<const char*, int64_t>, 4> kUnits = {
      {{"d", 86'400'000}, {"h", 3'600'000}, {"m", 60'000}, {"s", 1000}}};
  for (const auto& [name, factor] : kUnits) {
    if (ms % factor == 0) return std::to_string(ms / factor) + name;
  }
  return std::to_string(ms) + "ms";
}

std::string format_time(int64_t unix_us) {
  if (unix_us == 0) return "never";
  const auto seconds = static_cast<std::time_t>(unix_us / 1'000'000);
  std::tm parts{};
  char text[32] = "?";
  if (localtime_r(&seconds, &parts) != nullptr) {
    (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  }
  return text;
}

}  // namespace cascade::ctl
