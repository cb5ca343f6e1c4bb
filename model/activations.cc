// Sizes follow from the configuration alone.
#include "model/activations.h"

#include <algorithm>

#include "base/checked.h"
#include "kernels/kernels.h"
#include "kernels/quantized_rows.h"
#include "model/mixture_pass.h"

namespace cascade {

size_t ActivationSizes::floats(int rows, int threads) const {
  const size_t row = 2 * hidden + qkv + attention + gate_up + output + 2 * angles * ropes;
  return row * rows + attention_scratch * threads;
}

size_t ActivationSizes::bytes(int rows, int threads) const {
  return floats(rows, threads) * sizeof(float) + quantized_bytes + expanded_bytes * threads +
         mixture_bytes;
}

ActivationKernel activation_kernel(Activation activation, const Kernels& kernels) {
  switch (activation) {
    case Activation::kSilu: return kernels.silu_mul;
    case Activation::kGeluTanh: return kernels.gelu_tanh_mul;
    case Activation::kClampedSwiglu: return kernels.clamped_swiglu;
  }
  return kernels.silu_mul;
}

int largest_input(const ModelConfig& config) {
  return std::max({config.hidden_size, config.query_heads * config.head_dim,
                   config.intermediate_size, config.mixture.intermediate_size,
                   config.mixture.shared_intermediate_size});
}

ActivationSizes activation_sizes(const ModelConfig& config, bool quantized, int rows) {
  const auto panels = [](int n) { return static_cast<size_t>(round_up(n, kPanelChannels)); };
  const int q_size = config.query_heads * config.head_dim;
  const int kv_size = config.kv_heads * config.head_dim;
  ActivationSizes sizes = {};
  sizes.hidden = panels(config.hidden_size);
  sizes.qkv = panels(q_size) + 2 * panels(kv_size);
  sizes.attention = panels(q_size);
  const std::vector<bool>& mixtures = config.mixture.layers;
  const bool has_mlp = mixtures.empty() || std::ranges::count(mixtures, false) > 0;
  sizes.gate_up = has_mlp ? 2 * panels(config.intermediate_size) : 0;
  sizes.output = panels(config.hidden_size);
  sizes.angles = panels(config.rope.rotary_dim(config.head_dim) / 2);
  sizes.ropes = std::ranges::count(config.layer_rope, LayerRope::kLocal) == 0 ? 1 : 2;
  sizes.attention_scratch = round_up(attention_scratch_floats(config.head_dim), size_t{16});
  sizes.mixture_bytes = MixturePass::bytes(config, quantized, rows);
  if (!quantized) return sizes;
  const int k_max = largest_input(config);
  sizes.quantized_bytes = quantized_rows_bytes(rows, k_max);
  sizes.expanded_bytes = round_up(quantized_gemm_scratch_bytes(k_max), size_t{64});
  return sizes;
}

}  // namespace cascade
