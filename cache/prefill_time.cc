// Fits a line to the time that a token took at each distance from the prompt's beginning.
#include "cache/prefill_time.h"

#include <algorithm>
#include <cmath>

namespace cascade {
namespace {

constexpr int64_t kSliceTokensMin = 32;
constexpr double kFirstEnd = 256;  // the first range of positions ends here
// A new measurement has a weight of a quarter, as in SpeedEstimate; the first ones are averaged.
constexpr double kLatestWeight = 0.25;
// A measurement that differs by more than this factor from the earlier ones counts as if it
// differed by this factor.
constexpr double kJumpMax = 2;
// After this many slices, the time at a position does not become more certain.
constexpr int kCountSure = 4;
// How wrong a measured time usually is (relative), and how far b/a may be from its expected value,
// at least. Together they decide how much the expected value counts.
constexpr double kNoise = 0.1;
constexpr double kGrowthDoubt = 2e-4;

}  // namespace

void PrefillTime::add(int64_t position, int64_t tokens, int64_t compute_us) {
  if (position < 0 || tokens <= 0 || compute_us <= 0) return;
  const bool is_short = tokens < kSliceTokensMin;
  if (is_short && first_us_ > 0 && !only_short_) return;
  if (!is_short && only_short_) measured_ = {};
  only_short_ = is_short;
  const double where = sum_of_positions(position, position + tokens) / static_cast<double>(tokens);
  size_t i = 0;
  for (double end = kFirstEnd; where >= end && i + 1 < measured_.size(); end *= 2) ++i;
  Measured& here = measured_[i];
  double token_us = static_cast<double>(compute_us) / static_cast<double>(tokens);
  if (here.count > 0) {
    token_us = std::clamp(token_us, here.token_us / kJumpMax, here.token_us * kJumpMax);
  }
  here.count = std::min(here.count + 1, kCountSure);
  const double weight = std::max(kLatestWeight, 1.0 / here.count);
  here.token_us += weight * (token_us - here.token_us);
  here.position += weight * (where - here.position);
  fit();
}

// Least squares of the relative errors, with the expected growth as one more observation.
void PrefillTime::fit() {
  double weights = 0, positions = 0, times = 0;
  const auto weight_of = [](const Measured& m) { return m.count / (m.token_us * m.token_us); };
  for (const Measured& m : measured_) {
    if (m.count == 0) continue;
    weights += weight_of(m);
    positions += weight_of(m) * m.position;
    times += weight_of(m) * m.token_us;
  }
  const double position = positions / weights, time = times / weights;
  double spread = 0, common = 0;
  for (const Measured& m : measured_) {
    if (m.count == 0) continue;
    spread += weight_of(m) * (m.position - position) * (m.position - position);
    common += weight_of(m) * (m.position - position) * (m.token_us - time);
  }
  const double expected_first = time / (1 + growth_ * position);
  const double doubt = kNoise / (std::max(growth_, kGrowthDoubt) * expected_first);
  const double expected_weight = kCountSure * doubt * doubt;
  const double growth =
      (common + expected_weight * growth_ * expected_first) / (spread + expected_weight);
  // Neither a nor b is below zero.
  growth_us_ = std::clamp(growth, 0.0, position > 0 ? time / position : 0);
  first_us_ = time - growth_us_ * position;
}

double PrefillTime::us_of(double tokens, double positions) const {
  return first_us_ * tokens + growth_us_ * positions;
}

double PrefillTime::us(int64_t begin, int64_t end, const AttentionMode& mode) const {
  if (begin >= end) return 0;
  return us_of(static_cast<double>(end - begin), attention_work(mode, layers_, begin, end));
}

}  // namespace cascade
