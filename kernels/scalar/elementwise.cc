// Row-wise kernels in plain loops.
#include "kernels/scalar/elementwise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "kernels/exp.h"
#include "kernels/kernels.h"

namespace cascade::scalar {

float sum_lanes(const float lanes[16]) {
  float sums[16];
  std::copy(lanes, lanes + 16, sums);
  for (int half = 8; half > 0; half /= 2) {
    for (int j = 0; j < half; ++j) sums[j] = sums[j] + sums[j + half];
  }
  return sums[0];
}

void rms_norm(const float* x, const float* weight, float eps, int n, float* out) {
  float squares[16] = {};
  for (int i = 0; i < n; ++i) squares[i % 16] = std::fmaf(x[i], x[i], squares[i % 16]);
  const float mean = sum_lanes(squares) / static_cast<float>(n);
  const float scale = 1.0f / std::sqrt(mean + eps);
  for (int i = 0; i < n; ++i) out[i] = x[i] * scale * weight[i];
}

void rope(float* x, int heads, int head_dim, int rotary_dim, const float* cos, const float* sin) {
  const int half = rotary_dim / 2;
  for (int head = 0; head < heads; ++head) {
    float* v = x + static_cast<size_t>(head) * head_dim;
    for (int i = 0; i < half; ++i) {
      const float a = v[i], b = v[i + half];
      v[i] = a * cos[i] - b * sin[i];
      v[i + half] = b * cos[i] + a * sin[i];
    }
  }
}

void silu_mul(const float* gate, const float* up, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    const float silu = gate[i] / (1.0f + exp_reference(0.0f - gate[i]));
    out[i] = silu * up[i];
  }
}

void gelu_tanh_mul(const float* gate, const float* up, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    const float g = gate[i];
    const float gelu = g / (1.0f + exp_reference(g * std::fmaf(g * g, kGeluCubic, kGeluLinear)));
    out[i] = gelu * up[i];
  }
}

void sigmoid_mul(const float* gate, const float* up, int n, float* out) {
  for (int i = 0; i < n; ++i) out[i] = up[i] / (1.0f + exp_reference(0.0f - gate[i]));
}

void clamped_swiglu(const float* gate, const float* up, int n, float* out) {
  for (int i = 0; i < n; ++i) {
    // A NaN stays a NaN.
    const float g = kSwigluLimit < gate[i] ? kSwigluLimit : gate[i];
    const float below = kSwigluLimit < up[i] ? kSwigluLimit : up[i];
    const float u = -kSwigluLimit > below ? -kSwigluLimit : below;
    const float silu = g / (1.0f + exp_reference(g * -kSwigluSlope));
    out[i] = silu * (u + 1.0f);
  }
}

void add_scaled(float* x, const float* y, float factor, int n) {
  for (int i = 0; i < n; ++i) x[i] = std::fmaf(y[i], factor, x[i]);
}

void multiply_rows(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] * y[i];
}

void multiply(float* x, float factor, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] * factor;
}

void soft_cap(float* x, float cap, int n) {
  for (int i = 0; i < n; ++i) x[i] = soft_cap_reference(x[i], cap, 2.0f / cap);
}

void add(float* x, const float* y, int n) {
  for (int i = 0; i < n; ++i) x[i] = x[i] + y[i];
}

double log_sum_exp(const float* x, int n) {
  float largest = -INFINITY;
  for (int i = 0; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  double total = 0;
  constexpr int kSumBlock = 1024;
  for (int begin = 0; begin < n; begin += kSumBlock) {
    float lanes[16] = {};
    for (int i = begin; i < std::min(n, begin + kSumBlock); ++i) {
      lanes[(i - begin) % 16] = lanes[(i - begin) % 16] + exp_reference(x[i] - largest);
    }
    total += static_cast<double>(sum_lanes(lanes));
  }
  return static_cast<double>(largest) + std::log(total);
}

}  // namespace cascade::scalar
