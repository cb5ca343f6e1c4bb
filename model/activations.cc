// Sizes follow from the configuration alone.
#include "model/activations.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows.h"
#include "model/layer_inputs.h"
#include "model/mixture_pass.h"
#include "model/recurrent_pass.h"
#include "model/rope_angles.h"

namespace cascade {

size_t ActivationSizes::floats(int rows, int threads) const {
  const size_t row = 2 * hidden + qkv + attention + gate_up + output;
  return row * rows + attention_scratch * threads;
}

size_t ActivationSizes::bytes(int rows, int threads) const {
  return floats(rows, threads) * sizeof(float) + quantized_bytes + expanded_bytes * threads +
         mixture_bytes + recurrent_bytes + angles_bytes + inputs_bytes + inputs_scratch * threads;
}

ActivationKernel activation_kernel(Activation activation, const Kernels& kernels) {
  switch (activation) {
    case Activation::kSilu: return kernels.silu_mul;
    case Activation::kGeluTanh: return kernels.gelu_tanh_mul;
    case Activation::kClampedSwiglu: return kernels.clamped_swiglu;
  }
  return kernels.silu_mul;
}

namespace {

int mlp_size_max(const ModelConfig& config) {
  if (config.intermediate_sizes.empty()) return config.intermediate_size;
  return std::ranges::max(config.intermediate_sizes);
}

// Room for q, k and v of any layer, each whole panels.
int qkv_floats(const ModelConfig& config) {
  int most = 0;
  for (int layer = 0; layer < std::max(config.layers, 1); ++layer) {
    const AttentionShape shape = config.attention_shape(layer);
    const int q = round_up(config.query_heads * shape.head_dim, kPanelChannels);
    const int kv = round_up(shape.kv_heads * shape.head_dim, kPanelChannels);
    const int gates = config.attention_gate ? q : 0;
    most = std::max(most, gates + (shape.writes_kv ? q + 2 * kv : q));
  }
  return most;
}

// Room for the projection of a recurrent layer's input.
int recurrent_floats(const RecurrentConfig& config) {
  if (config.layers.empty()) return 0;
  const bool is_convolution = config.kind == Recurrence::kConvolution;
  const int gates = is_convolution ? 2 * config.channels : config.value_channels();
  const int steps = config.kind == Recurrence::kMamba ? config.value_heads : 0;
  return round_up(config.channels, kPanelChannels) + round_up(gates + steps, kPanelChannels);
}

// The input channels of a recurrent layer's output projection.
int recurrent_outputs(const RecurrentConfig& config) {
  if (config.layers.empty()) return 0;
  const bool is_convolution = config.kind == Recurrence::kConvolution;
  return is_convolution ? config.channels : config.value_channels();
}

}  // namespace

int largest_input(const ModelConfig& config) {
  return std::max({config.hidden_size, config.query_heads * config.head_dim_max(),
                   recurrent_outputs(config.recurrent), mlp_size_max(config),
                   config.layer_input_size, config.mixture.intermediate_size,
                   config.mixture.shared_intermediate_size});
}

ActivationSizes activation_sizes(const ModelConfig& config, bool quantized, int rows) {
  const auto panels = [](int n) { return static_cast<size_t>(round_up(n, kPanelChannels)); };
  const int q_size = config.query_heads * config.head_dim_max();
  ActivationSizes sizes = {};
  sizes.hidden = panels(config.hidden_size);
  sizes.qkv = size_t(std::max(qkv_floats(config), recurrent_floats(config.recurrent)));
  sizes.attention = panels(std::max(q_size, recurrent_outputs(config.recurrent)));
  const std::vector<bool>& mixtures = config.mixture.layers;
  const bool has_mlp =
      mixtures.empty() || config.mixture.beside_mlp || std::ranges::count(mixtures, false) > 0;
  sizes.gate_up = has_mlp ? 2 * panels(mlp_size_max(config)) : 0;
  sizes.output = panels(config.hidden_size);
  sizes.angles_bytes = RopeAngles::bytes(config, rows);
  sizes.attention_scratch = round_up(attention_scratch_floats(config.head_dim_max()), size_t{16});
  sizes.mixture_bytes = MixturePass::bytes(config, quantized, rows);
  sizes.recurrent_bytes = RecurrentPass::bytes(config, rows);
  sizes.inputs_bytes = LayerInputs::bytes(config, rows, 0);
  sizes.inputs_scratch = LayerInputs::bytes(config, 0, 1);
  if (!quantized) return sizes;
  const int k_max = largest_input(config);
  sizes.quantized_bytes = quantized_rows_bytes(rows, k_max);
  sizes.expanded_bytes = round_up(quantized_gemm_scratch_bytes(k_max), size_t{64});
  return sizes;
}

}  // namespace cascade
