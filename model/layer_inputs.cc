// The sums are those of transformers' Gemma4TextModel.project_per_layer_inputs() and
// Gemma4TextDecoderLayer.forward().
#include "model/layer_inputs.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <utility>

#include "base/checked.h"
#include "model/activations.h"

namespace cascade {
namespace {

// The embedding and the projection are added and divided by the square root of two.
constexpr auto kMeanScale = static_cast<float>(1 / std::numbers::sqrt2);

size_t inputs_floats(const ModelConfig& config) {
  return size_t(round_up(config.layers * config.layer_input_size, kPanelChannels));
}

size_t gate_floats(const ModelConfig& config) {
  return size_t(round_up(config.layer_input_size, kPanelChannels));
}

}  // namespace

LayerInputs::LayerInputs(const ModelConfig& config, const LayerInputWeights& weights,
                         const Kernels& kernels, ThreadPool& pool, MatrixMultiplier& multiplier,
                         int rows_max)
    : config_(config),
      weights_(weights),
      kernels_(kernels),
      pool_(pool),
      multiplier_(multiplier),
      memory_(PackedMemory::require(bytes(config, rows_max, pool.threads()))),
      inputs_stride_(inputs_floats(config)),
      gate_stride_(gate_floats(config)) {
  float* next = reinterpret_cast<float*>(memory_.data());
  const auto take = [&next](size_t floats) { return std::exchange(next, next + floats); };
  inputs_ = take(inputs_stride_ * size_t(rows_max));
  gates_ = take(gate_stride_ * size_t(rows_max));
  embeddings_ = take(inputs_stride_ * size_t(pool.threads()));
}

size_t LayerInputs::bytes(const ModelConfig& config, int rows_max, int threads) {
  const size_t row = inputs_floats(config) + gate_floats(config);
  return (row * size_t(rows_max) + inputs_floats(config) * size_t(threads)) * sizeof(float);
}

void LayerInputs::compute(std::span<const int32_t> ids, const float* embedded, uint8_t* quantized) {
  const auto hidden = size_t(config_.hidden_size);
  const int size = config_.layer_input_size, all = config_.layers * size;
  const auto rows = static_cast<int>(ids.size());
  const Product project = {&weights_.projection, embedded, hidden, rows, quantized, inputs_,
                           inputs_stride_};
  if (project.w->quantized()) multiplier_.set_inputs({&project, 1}, [](int, int, int, int) {});
  multiplier_.multiply({&project, 1});
  const auto scale = static_cast<float>(1 / std::sqrt(double(config_.hidden_size)));
  pool_.run(rows, [&](int row, int thread) {
    float* const inputs = inputs_ + size_t(row) * inputs_stride_;
    float* const embedding = embeddings_ + size_t(thread) * inputs_stride_;
    kernels_.multiply(inputs, scale, all);
    for (int begin = 0; begin < all; begin += size) {
      kernels_.rms_norm(inputs + begin, weights_.norm.data(), config_.rms_norm_eps, size,
                        inputs + begin);
    }
    get_row(weights_.embedding, ids[size_t(row)], embedding);
    kernels_.multiply(embedding, weights_.embedding_multiplier, all);
    kernels_.add(inputs, embedding, all);
    kernels_.multiply(inputs, kMeanScale, all);
  });
}

void LayerInputs::move(int from, int to) {
  std::memcpy(inputs_ + size_t(to) * inputs_stride_, inputs_ + size_t(from) * inputs_stride_,
              inputs_stride_ * sizeof(float));
}

void LayerInputs::add(int layer, const LayerInputProjections& w, int rows, float* residual,
                      float* projected, size_t stride, uint8_t* quantized) {
  const auto hidden = size_t(config_.hidden_size);
  const Product gate = {&w.gate, residual, hidden, rows, quantized, gates_, gate_stride_};
  if (gate.w->quantized()) multiplier_.set_inputs({&gate, 1}, [](int, int, int, int) {});
  multiplier_.multiply({&gate, 1});
  const ActivationKernel activate = activation_kernel(config_.activation, kernels_);
  const float* const inputs = inputs_ + size_t(layer) * size_t(config_.layer_input_size);
  const Product output = {&w.output, gates_, gate_stride_, rows, quantized, projected, stride};
  multiplier_.set_inputs({&output, 1}, [&](int, int row, int begin, int end) {
    float* const gates = gates_ + size_t(row) * gate_stride_ + begin;
    activate(gates, inputs + size_t(row) * inputs_stride_ + begin, end - begin, gates);
  });
  multiplier_.multiply({&output, 1});
  pool_.run(rows, [&](int row, int) {
    float* const out = projected + size_t(row) * stride;
    kernels_.rms_norm(out, w.norm.data(), config_.rms_norm_eps, config_.hidden_size, out);
    kernels_.add(residual + size_t(row) * hidden, out, config_.hidden_size);
  });
}

}  // namespace cascade
