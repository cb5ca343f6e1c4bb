// The names of the moments, and a counter that counts down to the moment that ends the process.
#include "base/failpoint.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string>

namespace cascade {

namespace failpoint_internal {

std::atomic<Failpoint> armed = Failpoint::kNone;

namespace {
std::atomic<uint64_t> passages_left = 0;
}  // namespace

void count_down() {
  if (passages_left.fetch_sub(1) == 1) ::kill(::getpid(), SIGKILL);
}

}  // namespace failpoint_internal

namespace {

// In the order of Failpoint, whose first value is kNone.
constexpr auto kNames = std::to_array<std::string_view>(
    {"kv_create", "kv_write_before", "kv_write_half", "kv_write_after", "kv_sync_before",
     "kv_sync_after", "commit_before", "commit_after", "acknowledge", "scrub", "kv_remove",
     "forget", "compact", "checkpoint_write", "checkpoint_sync", "recover_begin", "recover_adopt",
     "recover_end"});
static_assert(kNames.size() == static_cast<size_t>(Failpoint::kRecoverEnd));

}  // namespace

std::span<const std::string_view> failpoint_names() {
  return kNames;
}

Status arm_failpoint(std::string_view text) {
  const size_t colon = text.find(':');
  const auto name = std::ranges::find(kNames, text.substr(0, colon));
  if (name == kNames.end()) {
    std::string all;
    for (const std::string_view known : kNames) all += ' ' + std::string(known);
    return invalid_argument("CASCADE_FAILPOINT", "must be NAME or NAME:N, NAME one of" + all);
  }
  uint64_t passages = 1;
  if (colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const char* const end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, passages);
    if (error != std::errc() || stop != end || passages == 0) {
      return invalid_argument("CASCADE_FAILPOINT", "the number after the name must be 1 or more");
    }
  }
  failpoint_internal::passages_left = passages;
  failpoint_internal::armed = static_cast<Failpoint>(name - kNames.begin() + 1);
  return {};
}

}  // namespace cascade
