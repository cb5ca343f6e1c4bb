// Norms, rotary embedding, activation and sums over a row, for any vector type V16.
#pragma once

#include <math.h>

#include "kernels/exp.h"

namespace cascade::generic {

// kernels/exp.h, sixteen at a time, for x <= kExpMax.
template <class V>
[[gnu::always_inline]] inline V exp_not_positive(V x) {
  x = V::max(x, V::set1(kExpMin));
  const V n = V::round(x * V::set1(kLog2E));
  V r = V::fma(n, V::set1(-kLn2High), x);
  r = V::fma(n, V::set1(-kLn2Low), r);
  V q = V::fma(V::set1(kExpQ4), r, V::set1(kExpQ3));
  q = V::fma(q, r, V::set1(kExpQ2));
  q = V::fma(q, r, V::set1(kExpQ1));
  q = V::fma(q, r, V::set1(kExpQ0));
  const V y = V::fma(r * r, q, r) + V::set1(1.0f);
  return V::times_exp2(y, n);
}
template <class V>
[[gnu::always_inline]] inline V exp(V x) {
  return exp_not_positive(V::min(V::max(x, V::set1(kExpMin)), V::set1(kExpMax)));
}

// Calls body(offset, count) for each 16 of [0, n), the last with fewer.
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
inline void rope(float* x, int heads, int head_dim, const float* cos, const float* sin) {
  const int half = head_dim / 2;
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
inline void add(float* x, const float* y, int n) {
  for_lanes(n, [&](int i, int count) {
    (V::load_partial(x + i, count) + V::load_partial(y + i, count)).store_partial(x + i, count);
  });
}

// Sums of exponentials are taken over so many elements in f32, then added in f64.
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
