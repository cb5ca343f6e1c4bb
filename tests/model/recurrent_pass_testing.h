// Random recurrent layers that need no file, and what they compute in plain f64.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/random.h"
#include "kernels/packed_matrix.h"
#include "model/config.h"
#include "model/weights.h"

namespace cascade::testing {

// A kind of recurrent layers, and how their projections are stacked.
struct RecurrentCase {
  std::string name;
  Recurrence kind = Recurrence::kConvolution;
  bool together = false;  // kDeltaNet: one tensor, key head by key head
  int taps = 4;
};
std::vector<RecurrentCase> recurrent_cases();

// A model whose layers 0 and 2 are recurrent.
ModelConfig recurrent_model(const RecurrentCase& kind);

// The weights of a layer: f32, or the type that is given for the first projection.
struct RandomRecurrence {
  RandomRecurrence(const ModelConfig& config, const RecurrentCase& kind, Random& random,
                   WeightType type = WeightType::kF32);

  RecurrentWeights weights;
  std::vector<AlignedBytes> memory;
};

// The rows' width in the output of a recurrent layer.
int recurrent_output_width(const ModelConfig& config);

// One sequence that goes through a layer, one row after the other.
class PlainRecurrence {
 public:
  PlainRecurrence(const ModelConfig& config, const RecurrentWeights& w);

  // The output of the next row, whose normed input is `x`.
  std::vector<double> step(const float* x);
  // The state of the layer: inputs of the convolution, the oldest first, and matrices.
  const std::vector<std::vector<double>>& inputs() const { return inputs_; }
  const std::vector<double>& matrices() const { return matrices_; }

 private:
  // What a row's projections say.
  struct Projected {
    std::vector<double> input;   // [channels], of the convolution
    std::vector<double> gate;    // [value_channels()], or [channels] of kConvolution
    std::vector<double> rates;   // [value_heads]
    std::vector<double> decays;  // the same
  };
  Projected project(const float* x) const;
  Projected project_delta(const float* x) const;
  Projected project_mamba(const std::vector<double>& all) const;
  std::vector<double> convolve(const std::vector<double>& input);
  std::vector<double> scan(const std::vector<double>& convolved, const Projected& projected);
  std::vector<double> gated(std::vector<double> y, const std::vector<double>& gate) const;

  const ModelConfig& config_;
  const RecurrentConfig& recurrent_;
  const RecurrentWeights& w_;
  std::vector<std::vector<double>> inputs_;  // [taps - 1][channels]
  std::vector<double> matrices_;             // [value_heads, key_dim, value_dim]
};

}  // namespace cascade::testing
