// The inputs of single layers, compared with a plain computation in f64, on random weights.
#include "model/layer_inputs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "base/checked.h"
#include "tests/model/random_weights.h"
#include "tests/model/stepping.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

constexpr int kInputLayers = 3;
constexpr int kInputSize = 24;
constexpr int kInputHidden = 40;
constexpr int kInputVocab = 50;

ModelConfig inputs_config() {
  ModelConfig config;
  config.layers = kInputLayers;
  config.hidden_size = kInputHidden;
  config.layer_input_size = kInputSize;
  config.layer_input_vocab = kInputVocab;
  config.rms_norm_eps = 1e-3f;
  config.activation = Activation::kGeluTanh;
  return config;
}

struct RandomInputs {
  explicit RandomInputs(Random& random, WeightType type = WeightType::kF32) {
    const int all = kInputLayers * kInputSize;
    weights.embedding = random_matrix(random, kInputVocab, all, memory, type);
    weights.projection = random_stack(random, {all}, kInputHidden, memory, type);
    weights.norm = random_vector(random, kInputSize, 1);
    weights.embedding_multiplier = 3;
    layer.gate = random_stack(random, {kInputSize}, kInputHidden, memory, type);
    layer.output = random_stack(random, {kInputHidden}, kInputSize, memory, type);
    layer.norm = random_vector(random, kInputHidden, 1);
  }

  LayerInputWeights weights;
  LayerInputProjections layer;
  std::vector<AlignedBytes> memory;
};

// Inputs for up to 100 rows.
class InputsSubject {
 public:
  InputsSubject(const RandomInputs& inputs, ThreadPool& pool, bool quantized = false)
      : inputs_(inputs),
        multiplier_(kernels(), pool, quantized ? 64 : 0),
        subject_(config_, inputs.weights, kernels(), pool, multiplier_, 100),
        quantized_(quantized ? quantized_rows_bytes(100, 64) : 0) {}

  void compute(const std::vector<int32_t>& ids, const std::vector<float>& embedded) {
    subject_.compute(ids, embedded.data(), quantized_.data());
  }
  void move(int from, int to) { subject_.move(from, to); }
  // The residual stream after `layer` has added to it.
  std::vector<float> add(int layer, std::vector<float> residual) {
    const auto rows = residual.size() / kInputHidden, stride = size_t{64};
    std::vector<float> projected(rows * stride);
    subject_.add(layer, inputs_.layer, static_cast<int>(rows), residual.data(), projected.data(),
                 stride, quantized_.data());
    return residual;
  }

 private:
  static const Kernels& kernels() { return **kernels_for(best_isa()); }

  const ModelConfig config_ = inputs_config();
  const RandomInputs& inputs_;
  MatrixMultiplier multiplier_;
  LayerInputs subject_;
  std::vector<uint8_t> quantized_;
};

using Doubles = std::vector<double>;

Doubles rows_times(const StackedMatrix& w, int begin, int n, const Doubles& x) {
  Doubles y(static_cast<size_t>(n));
  std::vector<float> row(static_cast<size_t>(w.k()));
  for (int i = 0; i < n; ++i) {
    get_row(w.matrices.front(), begin + i, row.data());
    for (size_t k = 0; k < row.size(); ++k) y[size_t(i)] += double{row[k]} * x[k];
  }
  return y;
}

Doubles normed(Doubles x, const std::vector<float>& weight) {
  double squares = 0;
  for (const double value : x) squares += value * value;
  const double scale = 1 / std::sqrt(squares / double(x.size()) + 1e-3);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= scale * double{weight[i]};
  return x;
}

double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
}

// What `layer` adds for a token.
Doubles expected_addition(const RandomInputs& inputs, int layer, int32_t id,
                          const Doubles& embedded, const Doubles& residual) {
  Doubles input = rows_times(inputs.weights.projection, layer * kInputSize, kInputSize, embedded);
  for (double& value : input) value /= std::sqrt(double{kInputHidden});
  input = normed(input, inputs.weights.norm);
  std::vector<float> embedding(size_t{kInputLayers} * kInputSize);
  get_row(inputs.weights.embedding, id, embedding.data());
  Doubles gated = rows_times(inputs.layer.gate, 0, kInputSize, residual);
  for (size_t i = 0; i < kInputSize; ++i) {
    const double of_token = 3 * double{embedding[size_t(layer) * kInputSize + i]};
    gated[i] = gelu_tanh(gated[i]) * (input[i] + of_token) / std::numbers::sqrt2;
  }
  return normed(rows_times(inputs.layer.output, 0, kInputHidden, gated), inputs.layer.norm);
}

TEST(LayerInputs, are_gated_by_the_residual_stream_and_added_to_it) {
  Random random(test_seed());
  const RandomInputs inputs(random);
  InputsSubject subject(inputs, two_threads());
  for (const int rows : {1, 2, 37}) {
    const Ids ids = random_ids(random, size_t(rows), kInputVocab);
    const std::vector<float> embedded = random_vector(random, rows * kInputHidden, 0, 4);
    const std::vector<float> residual = random_vector(random, rows * kInputHidden, 0, 4);
    subject.compute(ids, embedded);
    for (int layer = 0; layer < kInputLayers; ++layer) {
      const std::vector<float> after = subject.add(layer, residual);
      for (size_t row = 0; row < size_t(rows); ++row) {
        const size_t begin = row * kInputHidden;
        const auto of_row = [begin](const std::vector<float>& all) {
          const auto from = all.begin() + ptrdiff_t(begin);
          return Doubles(from, from + kInputHidden);
        };
        const Doubles added =
            expected_addition(inputs, layer, ids[row], of_row(embedded), of_row(residual));
        for (size_t i = 0; i < kInputHidden; ++i) {
          ASSERT_NEAR(after[begin + i], double{residual[begin + i]} + added[i], 2e-5)
              << rows << " rows, row " << row << ", layer " << layer;
        }
      }
    }
  }
}

TEST(LayerInputs, the_bits_of_a_row_depend_on_no_other_row_and_not_on_threads) {
  Random random(test_seed());
  ThreadPool one(1);
  for (const WeightType type : {WeightType::kF32, WeightType::kInt8}) {
    const RandomInputs inputs(random, type);
    const bool quantized = type == WeightType::kInt8;
    InputsSubject together(inputs, two_threads(), quantized), alone(inputs, one, quantized);
    constexpr int kRows = 21;
    const Ids ids = random_ids(random, kRows, kInputVocab);
    const std::vector<float> embedded = random_vector(random, kRows * kInputHidden, 0, 4);
    const std::vector<float> residual = random_vector(random, kRows * kInputHidden, 0, 4);
    together.compute(ids, embedded);
    const std::vector<float> all = together.add(1, residual);
    for (size_t row = 0; row < kRows; ++row) {
      const auto of_row = [row](const std::vector<float>& rows) {
        const auto from = rows.begin() + ptrdiff_t(row * kInputHidden);
        return std::vector<float>(from, from + kInputHidden);
      };
      alone.compute({ids[row]}, of_row(embedded));
      EXPECT_EQ(alone.add(1, of_row(residual)), of_row(all)) << row;
    }
  }
}

TEST(LayerInputs, rows_that_are_moved_keep_their_inputs) {
  Random random(test_seed());
  const RandomInputs inputs(random);
  InputsSubject subject(inputs, two_threads());
  const std::vector<float> embedded = random_vector(random, 3 * kInputHidden, 0, 4);
  const std::vector<float> residual = random_vector(random, kInputHidden, 0, 4);
  subject.compute({7}, {embedded.end() - kInputHidden, embedded.end()});
  const std::vector<float> expected = subject.add(2, residual);
  subject.compute({3, 4, 7}, embedded);
  subject.move(2, 0);
  EXPECT_EQ(subject.add(2, residual), expected);
}

TEST(LayerInputs, take_no_memory_in_models_without_them) {
  EXPECT_EQ(LayerInputs::bytes({}, 512, 8), 0u);
  EXPECT_GT(LayerInputs::bytes(inputs_config(), 512, 1), 0u);
  EXPECT_GT(LayerInputs::bytes(inputs_config(), 512, 2),
            LayerInputs::bytes(inputs_config(), 512, 1));
}

}  // namespace
}  // namespace cascade::testing
