// Ends and forks come before waypoints.
#include "cache/kept_points.h"

#include <algorithm>
#include <cstdlib>

namespace cascade {

using Worth = StateTable::Worth;

std::vector<KeptPoint> kept_points(const ChainPlan& plan, int64_t position, int64_t end) {
  std::vector<KeptPoint> points;
  const auto add = [&](int64_t at, Worth worth) {
    const auto is_near = [&](const KeptPoint& point) {
      return std::abs(point.position - at) < kKeptTokensMin;
    };
    if (at > position && at <= end && std::ranges::none_of(points, is_near)) {
      points.push_back({at, worth});
    }
  };
  add(plan.resumes, Worth::kEnd);
  const bool saves_much = plan.fork - plan.begin >= kKeptTokensMin;
  const bool is_other = std::abs(plan.resumes - plan.fork) >= kKeptTokensMin;
  if (saves_much && is_other) add(plan.fork, Worth::kEnd);
  const int64_t stretch = plan.tokens / (kWaypointTokens * kWaypointsMax) + 1;
  const int64_t stride = kWaypointTokens * stretch;
  for (int64_t at = (position / stride + 1) * stride; at <= end; at += stride) {
    if (std::abs(plan.resumes - at) >= kKeptTokensMin) add(at, Worth::kWaypoint);
  }
  std::ranges::sort(points, {}, &KeptPoint::position);
  return points;
}

bool passes_waypoint(int64_t position, int64_t end) {
  return position / kWaypointTokens < end / kWaypointTokens;
}

}  // namespace cascade
