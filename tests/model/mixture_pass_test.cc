// The MLP of a mixture of experts, compared with a plain computation, on random weights.
#include "model/mixture_pass.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <optional>
#include <vector>

#include "base/checked.h"
#include "tests/model/random_weights.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

ModelConfig mixture_config() {
  ModelConfig config;
  config.hidden_size = 40;
  config.mixture = {.layers = {true},
                    .experts = 10,
                    .chosen = 3,
                    .intermediate_size = 24,
                    .shared_intermediate_size = 48,
                    .normalizes = true,
                    .scale = 1.5f};
  return config;
}

// A layer of f32 weights, or of int8 ones, but for the router.
struct RandomMixture {
  RandomMixture(const ModelConfig& config, Random& random, WeightType type) {
    const MixtureConfig& mixture = config.mixture;
    std::vector<int> logits = {mixture.experts};
    if (mixture.shared_gate) logits.push_back(1);
    weights.router = random_stack(random, logits, config.hidden_size, memory);
    for (int expert = 0; expert <= mixture.experts; ++expert) {
      const bool is_shared = expert == mixture.experts;
      const int inner = is_shared ? mixture.shared_intermediate_size : mixture.intermediate_size;
      if (inner == 0) continue;
      weights.gate_up.push_back(
          random_stack(random, {inner, inner}, config.hidden_size, memory, type));
      weights.down.push_back(random_stack(random, {config.hidden_size}, inner, memory, type));
    }
  }

  MixtureWeights weights;
  std::vector<AlignedBytes> memory;
};

class MixtureSubject {
 public:
  MixtureSubject(const ModelConfig& config, ThreadPool& pool, bool quantized)
      : config_(config),
        multiplier_(kernels(), pool, quantized ? 64 : 0),
        pass_(config_, kernels(), pool, multiplier_, quantized, 2000) {}

  std::vector<float> run(const MixtureWeights& w, const std::vector<float>& x) {
    const size_t hidden = size_t(config_.hidden_size), stride = hidden + 8;
    const size_t rows = x.size() / hidden;
    std::vector<float> out(rows * stride, -1), packed;
    pass_.run(w, x.data(), static_cast<int>(rows), out.data(), stride);
    for (size_t row = 0; row < rows; ++row) {
      const auto begin = out.begin() + static_cast<ptrdiff_t>(row * stride);
      packed.insert(packed.end(), begin, begin + config_.hidden_size);
    }
    return packed;
  }

  // MixturePass::add() to rows that have `of_mlp`.
  std::vector<float> add(const MixtureWeights& w, const std::vector<float>& residual,
                         std::vector<float> of_mlp) {
    const size_t hidden = size_t(config_.hidden_size);
    pass_.add(w, residual.data(), static_cast<int>(residual.size() / hidden), of_mlp.data(),
              hidden);
    return of_mlp;
  }

 private:
  static const Kernels& kernels() { return **kernels_for(best_isa()); }

  const ModelConfig config_;
  MatrixMultiplier multiplier_;
  MixturePass pass_;
};

std::vector<double> product(const StackedMatrix& w, size_t part, int n, const double* x) {
  std::vector<double> y(static_cast<size_t>(n));
  std::vector<float> row(static_cast<size_t>(w.k()));
  for (int i = 0; i < n; ++i) {
    get_row(w.matrices.front(), w.offset[part] + i, row.data());
    for (size_t k = 0; k < row.size(); ++k) y[size_t(i)] += double{row[k]} * x[k];
  }
  return y;
}

// The sum over the experts that the router chooses for `routed`, of what they compute of `x`, in
// f64.
std::vector<double> expected_output(const ModelConfig& config, const MixtureWeights& w,
                                    const std::vector<double>& routed,
                                    const std::vector<double>& x) {
  const MixtureConfig& mixture = config.mixture;
  const std::vector<double> logits = product(w.router, 0, mixture.experts, routed.data());
  const std::vector<float> rounded(logits.begin(), logits.end());
  std::vector<ChosenExpert> chosen(size_t(mixture.chosen));
  ExpertChoice(mixture).choose(rounded.data(), nullptr, chosen.data());
  for (ChosenExpert& one : chosen) {
    if (!w.expert_scales.empty()) one.weight *= w.expert_scales[size_t(one.expert)];
  }
  double shared_weight = 1;
  if (mixture.shared_gate) {
    shared_weight = 1 / (1 + std::exp(-product(w.router, 1, 1, routed.data()).front()));
  }
  if (mixture.has_shared()) chosen.push_back({mixture.experts, static_cast<float>(shared_weight)});
  std::vector<double> out(x.size());
  for (const auto& [expert, weight] : chosen) {
    const StackedMatrix& gate_up = w.gate_up[size_t(expert)];
    const StackedMatrix& down = w.down[size_t(expert)];
    std::vector<double> gate = product(gate_up, 0, down.k(), x.data());
    const std::vector<double> up = product(gate_up, 1, down.k(), x.data());
    for (size_t i = 0; i < gate.size(); ++i) gate[i] *= up[i] / (1 + std::exp(-gate[i]));
    const std::vector<double> y = product(down, 0, config.hidden_size, gate.data());
    for (size_t i = 0; i < out.size(); ++i) out[i] += double{weight} * y[i];
  }
  return out;
}

std::vector<double> expected_row(const ModelConfig& config, const MixtureWeights& w,
                                 const float* row) {
  const std::vector<double> x(row, row + config.hidden_size);
  return expected_output(config, w, x, x);
}

TEST(MixturePass, adds_up_what_the_experts_of_each_row_compute) {
  Random random(test_seed());
  for (const auto& [shared_size, has_gate] : {std::pair(0, false), {48, false}, {48, true}}) {
    ModelConfig config = mixture_config();
    config.mixture.shared_intermediate_size = shared_size;
    config.mixture.shared_gate = has_gate;
    RandomMixture mixture(config, random, WeightType::kF32);
    MixtureSubject subject(config, two_threads(), false);
    for (const int rows : {1, 2, 37}) {
      const std::vector<float> x = random_vector(random, rows * config.hidden_size, 0, 4);
      const std::vector<float> out = subject.run(mixture.weights, x);
      for (int row = 0; row < rows; ++row) {
        const size_t begin = size_t(row) * size_t(config.hidden_size);
        const auto expected = expected_row(config, mixture.weights, x.data() + begin);
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(out[begin + i], expected[i], 1e-4) << rows << " rows, row " << row;
        }
      }
    }
  }
}

// More rows than a part holds, so that experts are cut.
TEST(MixturePass, the_bits_of_a_row_depend_on_no_other_row_and_not_on_threads) {
  Random random(test_seed());
  ModelConfig config = mixture_config();
  config.mixture.shared_gate = true;
  ThreadPool one(1), three(3);
  for (const WeightType type : {WeightType::kF32, WeightType::kInt8}) {
    RandomMixture mixture(config, random, type);
    MixtureSubject alone(config, one, type == WeightType::kInt8);
    MixtureSubject together(config, three, type == WeightType::kInt8);
    const size_t hidden = size_t(config.hidden_size);
    const std::vector<float> x = random_vector(random, 1500 * config.hidden_size, 0, 4);
    const std::vector<float> out = together.run(mixture.weights, x);
    for (int round = 0; round < 60; ++round) {
      const size_t rows = 1 + random.below(round % 3 == 0 ? 40 : 4);
      const size_t first = random.below(1500 - rows);
      const auto begin = x.begin() + static_cast<ptrdiff_t>(first * hidden);
      const std::vector<float> some(begin, begin + static_cast<ptrdiff_t>(rows * hidden));
      const std::vector<float> expected(
          out.begin() + static_cast<ptrdiff_t>(first * hidden),
          out.begin() + static_cast<ptrdiff_t>((first + rows) * hidden));
      ASSERT_EQ(alone.run(mixture.weights, some), expected) << first << ", " << rows << " rows";
    }
  }
}

// `x` divided by its root mean square, times `weight`, in f64.
std::vector<double> normed_row(std::vector<double> x, const std::vector<float>& weight) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1 / std::sqrt(squares / double(x.size()) + 1e-3);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * double{weight[i]};
  return x;
}

TEST(MixturePass, beside_an_mlp_is_normed_scaled_and_added) {
  Random random(test_seed());
  ModelConfig config = mixture_config();
  config.rms_norm_eps = 1e-3f;
  config.mixture.shared_intermediate_size = 0;
  config.mixture.beside_mlp = true;
  RandomMixture mixture(config, random, WeightType::kF32);
  MixtureWeights& w = mixture.weights;
  const int hidden = config.hidden_size;
  w.expert_scales = random_vector(random, config.mixture.experts, 1);
  for (auto* norm :
       {&w.beside.router_input, &w.beside.input, &w.beside.output, &w.beside.mlp_output}) {
    *norm = random_vector(random, hidden, 1);
  }
  MixtureSubject subject(config, two_threads(), false);
  const std::vector<float> residual = random_vector(random, 5 * hidden, 0, 4);
  const std::vector<float> of_mlp = random_vector(random, 5 * hidden, 0, 4);
  const std::vector<float> out = subject.add(w, residual, of_mlp);
  for (size_t row = 0; row < 5; ++row) {
    const auto begin = ptrdiff_t(row) * hidden;
    const auto of_row = [&](const std::vector<float>& all) {
      return std::vector<double>(all.begin() + begin, all.begin() + begin + hidden);
    };
    const std::vector<double> routed = normed_row(of_row(residual), w.beside.router_input);
    const std::vector<double> input = normed_row(of_row(residual), w.beside.input);
    std::vector<double> expected = normed_row(of_row(of_mlp), w.beside.mlp_output);
    const std::vector<double> added =
        normed_row(expected_output(config, w, routed, input), w.beside.output);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(out[size_t(begin) + i], expected[i] + added[i], 1e-4) << "row " << row;
    }
  }
}

TEST(MixturePass, does_not_touch_weights_of_experts_that_no_row_uses) {
  Random random(test_seed());
  const ModelConfig config = mixture_config();
  RandomMixture mixture(config, random, WeightType::kF32);
  MixtureSubject subject(config, two_threads(), false);
  const std::vector<float> x = random_vector(random, config.hidden_size, 0, 4);
  const std::vector<float> expected = subject.run(mixture.weights, x);
  std::vector<float> logits(size_t(config.mixture.experts));
  const std::vector<double> exact(x.begin(), x.end());
  const auto scores = product(mixture.weights.router, 0, config.mixture.experts, exact.data());
  std::ranges::copy(scores, logits.begin());
  std::vector<ChosenExpert> chosen(size_t(config.mixture.chosen));
  ExpertChoice(config.mixture).choose(logits.data(), nullptr, chosen.data());
  for (int expert = 0; expert < config.mixture.experts; ++expert) {
    if (std::ranges::count(chosen, expert, &ChosenExpert::expert) > 0) continue;
    // A read of these would crash.
    mixture.weights.gate_up[size_t(expert)].matrices.front().data = nullptr;
    mixture.weights.down[size_t(expert)].matrices.front().data = nullptr;
  }
  EXPECT_EQ(subject.run(mixture.weights, x), expected);
}

TEST(MixturePass, bytes_grow_with_rows_and_are_none_without_experts) {
  const ModelConfig config = mixture_config();
  EXPECT_EQ(MixturePass::bytes({}, true, 512), 0u);
  EXPECT_GT(MixturePass::bytes(config, false, 512), 0u);
  EXPECT_GT(MixturePass::bytes(config, true, 512), MixturePass::bytes(config, false, 512));
  EXPECT_EQ(MixturePass::bytes(config, true, 1024) - MixturePass::bytes(config, true, 512),
            512 * 16 * sizeof(float));  // logits of the router
  ModelConfig gated = config;
  gated.mixture.shared_gate = true;
  EXPECT_EQ(MixturePass::bytes(gated, true, 512) - MixturePass::bytes(config, true, 512),
            512 * 16 * sizeof(float));
}

}  // namespace
}  // namespace cascade::testing
