// The exponential that all kernels share: its constants, and the scalar forms that specify it, its
// variant e^x - 1, and the soft cap that is computed from that variant.
//
// exp(x) for x clamped to [kExpMin, kExpMax]; a NaN counts as kExpMin. With n = x/ln 2 rounded to
// nearest even and r = x - n ln 2 (two-part constant, Cody and Waite 1980):
//   exp(x) = (1 + r + r^2 q(r)) * 2^n
// q is the minimax polynomial of degree 4 on |r| <= ln(2)/2, fitted by us; the error is under 1.5
// units in the last place. Every operation is one IEEE operation or one fma, in this order.
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

// gelu(x) by its tanh form (Hendrycks and Gimpel 2016): 0.5 x (1 + tanh(u)) = x / (1 + exp(-2 u))
// with -2 u = x (kGeluLinear + kGeluCubic x^2), kGeluLinear = -2 sqrt(2 / pi).
inline constexpr float kGeluLinear = -0x1.988454p+0f;
inline constexpr float kGeluCubic = -0x1.2444f2p-4f;  // 0.044715 * kGeluLinear

// Internal linkage on purpose: files of different instruction sets include this header.

// exp(x) = (1 + fraction) * power, for x in [kExpMin, kExpMax].
struct ExpParts {
  float fraction;
  float power;
};
[[maybe_unused]] static ExpParts exp_parts(float x) {
  const float n = __builtin_nearbyintf(x * kLog2E);
  float r = __builtin_fmaf(n, -kLn2High, x);
  r = __builtin_fmaf(n, -kLn2Low, r);
  float q = __builtin_fmaf(kExpQ4, r, kExpQ3);
  q = __builtin_fmaf(q, r, kExpQ2);
  q = __builtin_fmaf(q, r, kExpQ1);
  q = __builtin_fmaf(q, r, kExpQ0);
  const uint32_t bits = static_cast<uint32_t>(static_cast<int32_t>(n) + 127) << 23;
  ExpParts parts;
  parts.fraction = __builtin_fmaf(r * r, q, r);
  __builtin_memcpy(&parts.power, &bits, sizeof bits);
  return parts;
}

[[maybe_unused]] static float exp_reference(float x) {
  x = x > kExpMin ? x : kExpMin;
  x = x < kExpMax ? x : kExpMax;
  const ExpParts parts = exp_parts(x);
  return (parts.fraction + 1.0f) * parts.power;
}

// cap * tanh(x / cap), where tanh(y) = e / (e + 2) with e = exp(2 y) - 1 = fraction * power +
// (power - 1): small x keep all their digits. `twice_inverse` is 2 / cap. A NaN stays a NaN.
[[maybe_unused]] static float soft_cap_reference(float x, float cap, float twice_inverse) {
  float y = x * twice_inverse;
  y = y > kExpMin ? y : kExpMin;
  y = y < kExpMax ? y : kExpMax;
  const ExpParts parts = exp_parts(y);
  const float e = __builtin_fmaf(parts.fraction, parts.power, parts.power - 1.0f);
  return __builtin_fmaf(x, 0.0f, e / (e + 2.0f) * cap);
}

}  // namespace cascade
