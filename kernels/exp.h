// The one exponential of all kernels: its constants, and the scalar form that specifies it.
//
// exp(x) for x clamped to [kExpMin, kExpMax]; a NaN counts as kExpMin. With n = x/ln 2 rounded to
// nearest even and r = x - n ln 2 (two-part constant, Cody and Waite 1980):
//   exp(x) = (1 + r + r^2 q(r)) * 2^n
// q is the minimax polynomial of degree 4 on |r| <= ln(2)/2, fitted by us; the error is under
// 1.5 units in the last place. Every operation is one IEEE operation or one fma, in this order.
#pragma once

#include <math.h>
#include <cstdint>

namespace cascade {

inline constexpr float kExpMin = -87.0f;  // the result is still a normal number
inline constexpr float kExpMax = 88.0f;   // the result is still finite
inline constexpr float kLog2E = 0x1.715476p+0f;
inline constexpr float kLn2High = 0x1.62e400p-1f;  // n * kLn2High is exact: 9 low bits are 0
inline constexpr float kLn2Low = 0x1.7f7d1cp-20f;
inline constexpr float kExpQ0 = 0x1.fffffcp-2f;
inline constexpr float kExpQ1 = 0x1.555490p-3f;
inline constexpr float kExpQ2 = 0x1.5558f4p-5f;
inline constexpr float kExpQ3 = 0x1.123a6cp-7f;
inline constexpr float kExpQ4 = 0x1.6a2356p-10f;

// Internal linkage on purpose: files of different instruction sets include this header.
[[maybe_unused]] static float exp_reference(float x) {
  x = x > kExpMin ? x : kExpMin;
  x = x < kExpMax ? x : kExpMax;
  const float n = __builtin_nearbyintf(x * kLog2E);
  float r = __builtin_fmaf(n, -kLn2High, x);
  r = __builtin_fmaf(n, -kLn2Low, r);
  float q = __builtin_fmaf(kExpQ4, r, kExpQ3);
  q = __builtin_fmaf(q, r, kExpQ2);
  q = __builtin_fmaf(q, r, kExpQ1);
  q = __builtin_fmaf(q, r, kExpQ0);
  const float y = __builtin_fmaf(r * r, q, r) + 1.0f;
  const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  float power;
  __builtin_memcpy(&power, &bits, sizeof power);
  return y * power;
}

}  // namespace cascade
