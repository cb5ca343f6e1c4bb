// Plain loops, a column at a time.
#include "kernels/scalar/recurrence.h"

#include <cmath>

#include "kernels/exp.h"

namespace cascade::scalar {

void convolve(const ConvolveArgs& args) {
  for (int c = 0; c < args.n; ++c) {
    float sum = args.bias == nullptr ? 0.0f : args.bias[c];
    for (int t = 0; t < args.taps; ++t) {
      const auto row = static_cast<size_t>(t) * args.weight_stride;
      sum = std::fmaf(args.rows[t][c], args.weights[row + static_cast<size_t>(c)], sum);
    }
    args.out[c] = args.silu ? sum / (1.0f + exp_reference(0.0f - sum)) : sum;
  }
}

namespace {

// One token's step of column `c`.
float step(const ScanArgs& args, size_t t, size_t c) {
  const float* const key = args.keys + t * args.key_stride;
  const float* const query = args.queries + t * args.key_stride;
  const float decay = args.decays[t * args.step_stride];
  const float rate = args.rates[t * args.step_stride];
  float* const state = args.state + c;
  float change = args.values[t * args.value_stride + c];
  if (args.corrects) {
    float known = 0;
    for (int i = 0; i < args.key_dim; ++i) {
      known = std::fmaf(state[static_cast<size_t>(i) * args.state_stride], key[i], known);
    }
    change = change - known * decay;
  }
  change = change * rate;
  float out = 0;
  for (int i = 0; i < args.key_dim; ++i) {
    float& value = state[static_cast<size_t>(i) * args.state_stride];
    value = std::fmaf(key[i], change, value * decay);
    out = std::fmaf(value, query[i], out);
  }
  return out;
}

}  // namespace

void scan(const ScanArgs& args) {
  for (size_t t = 0; t < static_cast<size_t>(args.tokens); ++t) {
    for (size_t c = 0; c < static_cast<size_t>(args.columns); ++c) {
      args.out[t * args.out_stride + c] = step(args, t, c);
    }
  }
}

}  // namespace cascade::scalar
