// The specification of the row-wise kernels.
#pragma once

namespace cascade::scalar {

// 16 lanes, added by halves: lane j += lane j+8, then +4, +2, +1.
float sum_lanes(const float lanes[16]);

void rms_norm(const float* x, const float* weight, float eps, int n, float* out);
void rope(float* x, int heads, int head_dim, int rotary_dim, const float* cos, const float* sin);
void silu_mul(const float* gate, const float* up, int n, float* out);
void gelu_tanh_mul(const float* gate, const float* up, int n, float* out);
void clamped_swiglu(const float* gate, const float* up, int n, float* out);
void sigmoid_mul(const float* gate, const float* up, int n, float* out);
void add_scaled(float* x, const float* y, float factor, int n);
void multiply_rows(float* x, const float* y, int n);
void multiply(float* x, float factor, int n);
void soft_cap(float* x, float cap, int n);
void add(float* x, const float* y, int n);
double log_sum_exp(const float* x, int n);

}  // namespace cascade::scalar
