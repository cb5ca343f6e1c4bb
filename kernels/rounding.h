// Rounding of weights to small integers. The loops that use it become vector code.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/number_types.h"

namespace cascade {

// To the nearest whole number, ties to even, for |x| < 2^22: the sum has no bits for a fraction.
inline constexpr float kRoundingMagic = 0x1.8p23f;
inline float round_small(float x) {
  return (x + kRoundingMagic) - kRoundingMagic;
}

// A NaN becomes `low`.
inline float clamped(float x, float low, float high) {
  return x > low ? (x < high ? x : high) : low;
}

// A scale that is not above kScaleMin counts as 0: weights divided by it could be too large for the
// rounding above.
inline float inverse(float scale) {
  constexpr float kScaleMin = 1e-30f;
  return scale > kScaleMin ? 1.0f / scale : 0.0f;
}

// 0 if there are no numbers; NaNs do not count. Uses several lanes, so that no comparison waits for
// the one before.
inline float largest_magnitude(const float* x, int count) {
  constexpr int kLanes = 16;
  float lanes[kLanes] = {};
  const int whole = count / kLanes * kLanes;
  for (int i = 0; i < whole; i += kLanes) {
    for (int j = 0; j < kLanes; ++j) {
      const float magnitude = std::fabs(x[i + j]);
      lanes[j] = lanes[j] < magnitude ? magnitude : lanes[j];
    }
  }
  for (int i = whole; i < count; ++i) lanes[0] = std::max(lanes[0], std::fabs(x[i]));
  return *std::max_element(lanes, lanes + kLanes);
}

// The smallest bf16 that is at least `x`; x >= 0.
inline uint16_t bf16_up(float x) {
  const uint16_t nearest = f32_to_bf16(x);
  return bf16_to_f32(nearest) < x ? static_cast<uint16_t>(nearest + 1) : nearest;
}

// The smallest f16 that is at least `x`; x >= 0.
inline uint16_t f16_up(float x) {
  const uint16_t nearest = f32_to_f16(x);
  return f16_to_f32(nearest) < x ? static_cast<uint16_t>(nearest + 1) : nearest;
}

}  // namespace cascade
