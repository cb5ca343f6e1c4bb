// Compares the actors with what was seen when the watchdog was last fed.
#include "daemon/progress.h"

namespace cascade {

ProgressRule::Verdict ProgressRule::look(std::span<const ProgressSign> signs) {
  Verdict verdict;
  const int64_t now = clock_.monotonic_us();
  if (fed_ && now - fed_us_ < interval_us()) return verdict;
  for (const ProgressSign& sign : signs) {
    const auto before = moves_.find(sign.actor);
    const bool moved = before == moves_.end() || before->second != sign.moves;
    if (sign.owes && !moved) verdict.stuck.push_back(sign.actor);
  }
  if (!verdict.stuck.empty()) return verdict;
  verdict.feed = true;
  fed_ = true;
  fed_us_ = now;
  for (const ProgressSign& sign : signs) moves_[sign.actor] = sign.moves;
  return verdict;
}

}  // namespace cascade
