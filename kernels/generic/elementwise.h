// Norms, rotary embedding, activation and sums over a row, for any vector type V16.
#pragma once

#include <math.h>

#include "kernels/exp.h"

namespace cascade::generic {

// exp_parts() of kernels/exp.h for sixteen numbers at a time; the power is 2^n.
template <class V>
struct ExpParts {
  V fraction;
  V n;
};
template <class V>
[[gnu::always_inline]] inline ExpParts<V> exp_parts(V x) {
  const V n = V::round(x * V::set1(kLog2E));
  V r = V::fma(n, V::set1(-kLn2High), x);
  r = V::fma(n, V::set1(-kLn2Low), r);
  V q = V::fma(V::set1(kExpQ4), r, V::set1(kExpQ3));
  q = V::fma(q, r, V::set1(kExpQ2));
  q = V::fma(q, r, V::set1(kExpQ1));
  q = V::fma(q, r, V::set1(kExpQ0));
  return {V::fma(r * r, q, r), n};
}
// For x <= kExpMax.
template <class V>
[[gnu::always_inline]] inline V exp_not_positive(V x) {
  const ExpParts<V> parts = exp_parts(V::max(x, V::set1(kExpMin)));
  return V::times_exp2(parts.fraction + V::set1(1.0f), parts.n);
}
template <class V>
[[gnu::always_inline]] inline V clamped_exponent(V x) {
  return V::min(V::max(x, V::set1(kExpMin)), V::set1(kExpMax));
}
template <class V>
[[gnu::always_inline]] inline V exp(V x) {
  return exp_not_positive(clamped_exponent(x));
}
// soft_cap_reference().
template <class V>
[[gnu::always_inline]] inline V soft_cap(V x, V cap, V twice_inverse) {
  const V one = V::set1(1.0f);
  const ExpParts<V> parts = exp_parts(clamped_exponent(x * twice_inverse));
  const V power = V::times_exp2(one, parts.n);
  const V e = V::fma(parts.fraction, power, power - one);
  return V::fma(x, V::zero(), e / (e + V::set1(2.0f)) * cap);
}

// Calls body(offset, count) for every 16 of [0, n); the last call may have fewer.
template <class Body>
[[gnu::always_inline]] inline void for_lanes(int n, const Body& body) {
  int i = 0;
  for (; i + 16 <= n; i += 16) body(i, 16);
  if (i < n) body(i, n - i);
}

template <class V>
inline void rms_norm(const float* x, const float* weight, float eps, int n, float* out) {
  V squares = V::zero();
  for_lanes(n, [&](int i, int count) {
    const V value = V::load_partial(x + i, count);
    squares = V::fma(value, value, squares);
  });
  const float mean = squares.sum() / static_cast<float>(n);
  const V scale = V::set1(1.0f / __builtin_sqrtf(mean + eps));
  for_lanes(n, [&](int i, int count) {
    const V value = V::load_partial(x + i, count) * scale;
    (value * V::load_partial(weight + i, count)).store_partial(out + i, count);
  });
}

template <class V>
inline void rope(float* x, int heads, int head_dim, int rotary_dim, const float* cos,
                 const float* sin) {
  const int half = rotary_dim / 2;
  for (int head = 0; head < heads; ++head) {
    float* first = x + static_cast<size_t>(head) * head_dim;
    float* second = first + half;
    for_lanes(half, [&](int i, int count) {
      const V a = V::load_partial(first + i, count), b = V::load_partial(second + i, count);
      const V c = V::load_partial(cos + i, count), s = V::load_partial(sin + i, count);
      (a * c - b * s).store_partial(first + i, count);
      (b * c + a * s).store_partial(second + i, count);
    });
  }
}

template <class V>
inline void silu_mul(const float* gate, const float* up, int n, float* out) {
  for_lanes(n, [&](int i, int count) {
    const V g = V::load_partial(gate + i, count);
    const V silu = g / (V::set1(1.0f) + exp(V::zero() - g));
    (silu * V::load_partial(up + i, count)).store_partial(out + i, count);
  });
}

template <class V>
inline void gelu_tanh_mul(const float* gate, const float* up, int n, float* out) {
  const V one = V::set1(1.0f);
  for_lanes(n, [&](int i, int count) {
    const V g = V::load_partial(gate + i, count);
    const V exponent = g * V::fma(g * g, V::set1(kGeluCubic), V::set1(kGeluLinear));
    const V gelu = g / (one + exp(exponent));
    (gelu * V::load_partial(up + i, count)).store_partial(out + i, count);
  });
}

template <class V>
inline void sigmoid_mul(const float* gate, const float* up, int n, float* out) {
  for_lanes(n, [&](int i, int count) {
    const V g = V::load_partial(gate + i, count), u = V::load_partial(up + i, count);
    (u / (V::set1(1.0f) + exp(V::zero() - g))).store_partial(out + i, count);
  });
}

template <class V>
inline void clamped_swiglu(const float* gate, const float* up, int n, float* out) {
  const V one = V::set1(1.0f), limit = V::set1(kSwigluLimit);
  for_lanes(n, [&](int i, int count) {
    // A NaN stays a NaN: min and max give their second operand then.
    const V g = V::min(limit, V::load_partial(gate + i, count));
    const V below = V::min(limit, V::load_partial(up + i, count));
    const V u = V::max(V::set1(-kSwigluLimit), below);
    const V silu = g / (one + exp(g * V::set1(-kSwigluSlope)));
    (silu * (u + one)).store_partial(out + i, count);
  });
}

template <class V>
inline void add_scaled(float* x, const float* y, float factor, int n) {
  const V by = V::set1(factor);
  for_lanes(n, [&](int i, int count) {
    const V sum = V::fma(V::load_partial(y + i, count), by, V::load_partial(x + i, count));
    sum.store_partial(x + i, count);
  });
}

template <class V>
inline void multiply_rows(float* x, const float* y, int n) {
  for_lanes(n, [&](int i, int count) {
    (V::load_partial(x + i, count) * V::load_partial(y + i, count)).store_partial(x + i, count);
  });
}

template <class V>
inline void multiply(float* x, float factor, int n) {
  for_lanes(n, [&](int i, int count) {
    (V::load_partial(x + i, count) * V::set1(factor)).store_partial(x + i, count);
  });
}

template <class V>
inline void soft_cap_row(float* x, float cap, int n) {
  const V limit = V::set1(cap), twice_inverse = V::set1(2.0f / cap);
  for_lanes(n, [&](int i, int count) {
    soft_cap(V::load_partial(x + i, count), limit, twice_inverse).store_partial(x + i, count);
  });
}

template <class V>
inline void add(float* x, const float* y, int n) {
  for_lanes(n, [&](int i, int count) {
    (V::load_partial(x + i, count) + V::load_partial(y + i, count)).store_partial(x + i, count);
  });
}

// The number of exponentials that are summed in f32; these sums are then added in f64.
inline constexpr int kSumBlock = 1024;

template <class V>
inline double log_sum_exp(const float* x, int n) {
  V maxima = V::set1(-INFINITY);
  for_lanes(n, [&](int i, int count) {
    maxima = V::max(V::keep(V::load_partial(x + i, count), 0, count, -INFINITY), maxima);
  });
  const float largest = maxima.largest();
  double total = 0;
  for (int begin = 0; begin < n; begin += kSumBlock) {
    const int size = n - begin < kSumBlock ? n - begin : kSumBlock;
    V sum = V::zero();
    for_lanes(size, [&](int i, int count) {
      const V value = exp(V::load_partial(x + begin + i, count) - V::set1(largest));
      sum = sum + V::keep(value, 0, count, 0.0f);
    });
    total += static_cast<double>(sum.sum());
  }
  return static_cast<double>(largest) + __builtin_log(total);
}

}  // namespace cascade::generic
