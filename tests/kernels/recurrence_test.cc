// Convolutions and scans: equal to the scalar ones bit for bit, however they are cut, and close to
// the same in f64.
#include "kernels/recurrence.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "tests/kernels/isas.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::expect_same_bits;
using testing::GuardedFloats;
using testing::random_floats;
using testing::scalar;
using testing::vector_kernels;

struct Convolution {
  Convolution(Random& random, int taps, int n, bool has_bias, bool silu)
      : weights(random_floats(random, size_t(taps * n))), bias(random_floats(random, size_t(n))) {
    for (int t = 0; t < taps; ++t) inputs.push_back(random_floats(random, size_t(n)));
    for (const GuardedFloats& input : inputs) rows.push_back(input.data());
    args = {.rows = rows.data(),
            .weights = weights.data(),
            .weight_stride = size_t(n),
            .bias = has_bias ? bias.data() : nullptr,
            .taps = taps,
            .n = n,
            .silu = silu,
            .out = nullptr};
  }

  GuardedFloats run(const Kernels& kernels) {
    GuardedFloats out(size_t(args.n));
    args.out = out.data();
    kernels.convolve(args);
    return out;
  }

  GuardedFloats weights, bias;
  std::vector<GuardedFloats> inputs;
  std::vector<const float*> rows;
  ConvolveArgs args;
};

TEST(Convolve, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const int taps : {1, 2, 3, 4, 7}) {
      for (const int n : {8, 16, 24, 136}) {
        Convolution convolution(random, taps, n, taps % 2 == 0, taps > 2);
        expect_same_bits(convolution.run(scalar()), convolution.run(*kernels));
      }
    }
  }
}

TEST(Convolve, adds_up_the_taps_and_the_bias) {
  Random random(testing::test_seed());
  for (const bool silu : {false, true}) {
    Convolution convolution(random, 4, 40, true, silu);
    const GuardedFloats out = convolution.run(scalar());
    for (size_t c = 0; c < out.size(); ++c) {
      double sum = double{convolution.bias[c]};
      for (size_t t = 0; t < 4; ++t) {
        sum += double{convolution.inputs[t][c]} * double{convolution.weights[t * 40 + c]};
      }
      if (silu) sum /= 1 + std::exp(-sum);
      EXPECT_NEAR(out[c], sum, 1e-4 + 1e-5 * std::fabs(sum));
    }
  }
}

// One head and its tokens. All rows have floats between them that nobody may use.
struct Scan {
  Scan(Random& random, int tokens, int key_dim, int columns, bool corrects)
      : keys(random_floats(random, size_t(tokens * (key_dim + 3)), 0.2f)),
        queries(random_floats(random, size_t(tokens * (key_dim + 3)), 0.2f)),
        values(random_floats(random, size_t(tokens * (columns + 5)))),
        steps(size_t(2 * tokens)),
        state(random_floats(random, size_t(key_dim * (columns + 8)))) {
    for (float& step : steps) step = static_cast<float>(random.unit());
    args = {.tokens = tokens,
            .key_dim = key_dim,
            .columns = columns,
            .corrects = corrects,
            .state = nullptr,
            .state_stride = size_t(columns + 8),
            .keys = keys.data(),
            .queries = queries.data(),
            .key_stride = size_t(key_dim + 3),
            .values = values.data(),
            .value_stride = size_t(columns + 5),
            .decays = steps.data(),
            .rates = steps.data() + 1,
            .step_stride = 2,
            .out = nullptr,
            .out_stride = size_t(columns + 1)};
  }

  struct Result {
    GuardedFloats state, out;
  };
  Result begin() const { return {state, GuardedFloats(size_t(args.tokens) * args.out_stride, -1)}; }
  // The columns [begin, end) of the tokens [first, last).
  void run(const Kernels& kernels, Result& result, int first, int last, int begin, int end) const {
    ScanArgs part = args;
    part.tokens = last - first;
    part.columns = end - begin;
    part.state = result.state.data() + begin;
    part.keys += size_t(first) * args.key_stride;
    part.queries += size_t(first) * args.key_stride;
    part.values += size_t(first) * args.value_stride + size_t(begin);
    part.decays += size_t(first) * args.step_stride;
    part.rates += size_t(first) * args.step_stride;
    part.out = result.out.data() + size_t(first) * args.out_stride + size_t(begin);
    kernels.scan(part);
  }
  Result run(const Kernels& kernels) const {
    Result result = begin();
    run(kernels, result, 0, args.tokens, 0, args.columns);
    return result;
  }

  GuardedFloats keys, queries, values, steps, state;
  ScanArgs args;
};

void expect_same(const Scan::Result& a, const Scan::Result& b) {
  expect_same_bits(a.state, b.state);
  expect_same_bits(a.out, b.out);
}

TEST(Scan, equals_scalar_on_every_isa) {
  Random random(testing::test_seed());
  for (const Kernels* kernels : vector_kernels()) {
    for (const bool corrects : {false, true}) {
      for (const int key_dim : {1, 16, 128}) {
        for (const int columns : {8, 16, 24, 64, 104, 136}) {
          const Scan scan(random, 5, key_dim, columns, corrects);
          expect_same(scan.run(scalar()), scan.run(*kernels));
        }
      }
    }
  }
}

TEST(Scan, bits_do_not_depend_on_how_tokens_and_columns_are_cut) {
  Random random(testing::test_seed());
  std::vector<const Kernels*> all = vector_kernels();
  all.push_back(&scalar());
  for (const Kernels* kernels : all) {
    for (int round = 0; round < 20; ++round) {
      const int tokens = 1 + int(random.below(12)), columns = 8 * (1 + int(random.below(20)));
      const Scan scan(random, tokens, 24, columns, round % 2 == 0);
      Scan::Result cut = scan.begin();
      for (int begin = 0; begin < columns;) {
        const int end = std::min(columns, begin + 8 * (1 + int(random.below(9))));
        for (int first = 0; first < tokens;) {
          const int last = std::min(tokens, first + 1 + int(random.below(4)));
          scan.run(*kernels, cut, first, last, begin, end);
          first = last;
        }
        begin = end;
      }
      expect_same(scan.run(*kernels), cut);
    }
  }
}

TEST(Scan, is_the_recurrence_of_its_definition) {
  Random random(testing::test_seed());
  for (const bool corrects : {false, true}) {
    const int tokens = 6, key_dim = 16, columns = 8;
    const Scan scan(random, tokens, key_dim, columns, corrects);
    const Scan::Result result = scan.run(scalar());
    const ScanArgs& args = scan.args;
    for (size_t c = 0; c < size_t(columns); ++c) {
      std::vector<double> state(size_t{key_dim});
      for (size_t i = 0; i < state.size(); ++i) state[i] = scan.state[i * args.state_stride + c];
      for (size_t t = 0; t < size_t(tokens); ++t) {
        const float* const key = args.keys + t * args.key_stride;
        const double decay = args.decays[2 * t], rate = args.rates[2 * t];
        double known = 0, out = 0;
        for (size_t i = 0; i < state.size(); ++i) known += state[i] * decay * double{key[i]};
        const double value = args.values[t * args.value_stride + c];
        const double change = rate * (corrects ? value - known : value);
        for (size_t i = 0; i < state.size(); ++i) {
          state[i] = state[i] * decay + double{key[i]} * change;
          out += state[i] * double{args.queries[t * args.key_stride + i]};
        }
        EXPECT_NEAR(result.out[t * args.out_stride + c], out, 1e-3 + 1e-4 * std::fabs(out));
      }
    }
  }
}

}  // namespace
}  // namespace cascade
