// Ends and forks come before waypoints.
#include "cache/kept_points.h"

#include <algorithm>
#include <cstdlib>

namespace cascade {

using Worth = StateTable::Worth;

namespace {

// The distance of the waypoints of a chain of `tokens` tokens.
int64_t waypoint_stride(int64_t tokens) {
  return kWaypointTokens * (tokens / (kWaypointTokens * kWaypointsMax) + 1);
}

}  // namespace

std::vector<KeptPoint> kept_points(const ChainPlan& plan, int64_t position, int64_t end) {
  std::vector<KeptPoint> points;
  const auto add = [&](int64_t at, Worth worth) {
    if (at > position && at <= end) points.push_back({at, worth});
  };
  add(plan.resumes, Worth::kEnd);
  // A prompt that leaves the chain at the fork can also go on from a state shortly before it, but
  // not from one after it.
  const int64_t after_resumes = plan.fork - plan.resumes;
  const bool is_covered = after_resumes >= 0 && after_resumes < kKeptTokensMin;
  if (plan.fork - plan.begin >= kKeptTokensMin && !is_covered) add(plan.fork, Worth::kEnd);
  const int64_t stride = waypoint_stride(plan.tokens);
  for (int64_t at = (position / stride + 1) * stride; at <= end; at += stride) {
    const auto is_near = [at](int64_t other) { return std::abs(other - at) < kKeptTokensMin; };
    if (!is_near(plan.resumes) && !is_near(plan.fork)) add(at, Worth::kWaypoint);
  }
  std::ranges::sort(points, {}, &KeptPoint::position);
  return points;
}

bool passes_waypoint(int64_t position, int64_t end) {
  const int64_t stride = waypoint_stride(end);
  return position / stride < end / stride;
}

}  // namespace cascade
