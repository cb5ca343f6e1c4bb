// A ring of counters.
#include "cache/thrash_detector.h"

#include <algorithm>

namespace cascade {

ThrashDetector::ThrashDetector(size_t capacity_pages)
    : step_accesses_(
          static_cast<int64_t>(std::clamp(capacity_pages, kWindowMin, kWindowMax) / kSteps)) {}

void ThrashDetector::add(const Step& access) {
  Step& step = steps_[current_];
  step += access;
  if (step.accesses < step_accesses_) return;
  judge();
  current_ = (current_ + 1) % kSteps;
  steps_[current_] = {};
}

void ThrashDetector::judge() {
  Step all;
  for (const Step& step : steps_) all += step;
  // the first window is not full yet
  if (all.accesses < step_accesses_ * static_cast<int64_t>(kSteps)) return;
  const auto accesses = static_cast<double>(all.accesses);
  const auto known = static_cast<double>(all.known);
  share_ = static_cast<double>(all.refaults) / accesses;
  const bool thrashes = share_ >= kAlarmShare || known >= kFarAlarmShare * accesses;
  if (!alarm_ && thrashes) {
    alarm_ = true;
    ++alarms_;
  } else if (alarm_ && known <= kEndShare * static_cast<double>(all.misses)) {
    alarm_ = false;
  }
}

}  // namespace cascade
