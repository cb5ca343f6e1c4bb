// The arguments of kernels for layers with a recurrent state: short convolutions, and scans over
// tokens.
#pragma once

#include <cstddef>

namespace cascade {

// A causal convolution of each channel by itself, for one token:
//   out[c] = bias[c] + sum over taps t of rows[t][c] * weights[t * weight_stride + c]
// as one chain of fused multiply-adds over t ascending, from the bias or +0. `out` is none of the
// rows.
struct ConvolveArgs {
  const float* const* rows;  // [taps]: the inputs [n] of the last tokens; the token's own is last
  const float* weights;      // [taps, n], the oldest token's first
  size_t weight_stride;
  const float* bias;  // [n], or nullptr
  int taps;
  int n;      // a multiple of 8
  bool silu;  // out[c] is multiplied by its sigmoid
  float* out;
};

// A linear recurrence of one head over consecutive tokens, for some columns of its state
// [key_dim, columns]. For each token, with its key k, query q, value v, decay a and rate b:
//   d = b * v, or, if `corrects`, b * (v - a * (sum over i of state[i] * k[i]))
//   state[i] = state[i] * a + k[i] * d
//   out = sum over i of state[i] * q[i]
// With `corrects` this is the gated delta rule (Yang and others 2024, arXiv:2412.06464), otherwise
// the state space model of Mamba-2 (Dao and Gu 2024, arXiv:2405.21060), whose B and C are key and
// query. Sums are chains of fused multiply-adds over i ascending, from +0; the new state is
// fma(k[i], d, state[i] * a). So the bits do not depend on how tokens and columns are cut into
// calls. Nothing that is written overlaps anything that is read, except the state.
struct ScanArgs {
  int tokens;
  int key_dim;
  int columns;  // of this call; a multiple of 8
  bool corrects;
  float* state;  // [key_dim] rows, `state_stride` floats apart
  size_t state_stride;
  const float* keys;     // [tokens] rows of key_dim floats, `key_stride` apart
  const float* queries;  // the same
  size_t key_stride;
  const float* values;  // [tokens] rows of `columns` floats, `value_stride` apart
  size_t value_stride;
  const float* decays;  // [tokens], `step_stride` apart
  const float* rates;   // the same
  size_t step_stride;
  float* out;  // [tokens] rows of `columns` floats, `out_stride` apart
  size_t out_stride;
};

}  // namespace cascade
