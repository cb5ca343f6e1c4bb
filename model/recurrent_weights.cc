// Each kind of recurrence has names of its own.
#include "model/recurrent_weights.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

namespace cascade {
namespace {

// Finds the convolution, which files have channel by channel, each with its taps.
Status find_convolution(PackingPlan& plan, const std::string& name, RecurrentWeights& w) {
  const RecurrentConfig& config = plan.config().recurrent;
  const auto channels = static_cast<size_t>(config.channels);
  const auto taps = static_cast<size_t>(config.taps);
  ASSIGN_OR_RETURN(const std::vector<float> values,
                   plan.values(name + ".weight", {config.channels, 1, config.taps}));
  w.taps.resize(values.size());
  for (size_t channel = 0; channel < channels; ++channel) {
    for (size_t tap = 0; tap < taps; ++tap) {
      w.taps[tap * channels + channel] = values[channel * taps + tap];
    }
  }
  if (!config.convolution_bias) return {};
  ASSIGN_OR_RETURN(w.taps_bias, plan.vector(name + ".bias", config.channels));
  return {};
}

// Finds the rates of decay and the biases of step sizes.
Status find_decays(PackingPlan& plan, const std::string& prefix, RecurrentWeights& w) {
  const RecurrentConfig& config = plan.config().recurrent;
  const std::string log = prefix + "A_log";
  ASSIGN_OR_RETURN(w.decay_rate, plan.vector(log, config.value_heads));
  if (config.has_rates) {
    if (std::ranges::any_of(w.decay_rate, [](float rate) { return rate > 0; })) {
      return unsupported(log, "has values above 0, with which states would grow");
    }
  } else {
    for (float& rate : w.decay_rate) rate = -static_cast<float>(std::exp(double{rate}));
    if (!all_finite(w.decay_rate)) {
      return unsupported(log, "has values of more than 88, whose exponentials are not finite");
    }
  }
  ASSIGN_OR_RETURN(w.step_bias, plan.vector(prefix + "dt_bias", config.value_heads));
  return {};
}

Status find_delta_net(PackingPlan& plan, const std::string& prefix, LayerWeights& layer) {
  const ModelConfig& config = plan.config();
  const RecurrentConfig& recurrent = config.recurrent;
  RecurrentWeights& w = *layer.recurrent;
  const int hidden = config.hidden_size, values = recurrent.value_channels();
  const int heads = recurrent.value_heads;
  // Qwen3-Next has one tensor of all that belongs to a key head, key head by key head. Its GGUF
  // files have this for the steps, and may have it for the inputs.
  const auto are_together = [&](const std::string& together, const std::string& apart) {
    return config.model_type == "qwen3_next" ? !plan.has(prefix + apart + ".weight")
                                             : plan.has(prefix + together + ".weight");
  };
  const auto part = [&](const char* name, int n) {
    return PackingPlan::linear(prefix + name, n, false);
  };
  std::vector<PackingPlan::Part> inputs = {part("in_proj_qkv", recurrent.channels),
                                           part("in_proj_z", values)};
  if (are_together("in_proj_qkvz", "in_proj_qkv")) {
    inputs = {part("in_proj_qkvz", recurrent.channels + values)};
  }
  std::vector<PackingPlan::Part> steps = {part("in_proj_b", heads), part("in_proj_a", heads)};
  if (are_together("in_proj_ba", "in_proj_b")) steps = {part("in_proj_ba", 2 * heads)};
  RETURN_IF_ERROR(plan.stacked(inputs, hidden, w.input));
  RETURN_IF_ERROR(plan.exact(steps, hidden, w.steps));
  RETURN_IF_ERROR(find_convolution(plan, prefix + "conv1d", w));
  RETURN_IF_ERROR(find_decays(plan, prefix, w));
  ASSIGN_OR_RETURN(w.norm, plan.vector(prefix + "norm.weight", recurrent.value_dim));
  return plan.stacked({PackingPlan::linear(prefix + "out_proj", hidden, false)}, values,
                      layer.output);
}

Status find_mamba(PackingPlan& plan, const std::string& prefix, LayerWeights& layer) {
  const ModelConfig& config = plan.config();
  const RecurrentConfig& recurrent = config.recurrent;
  RecurrentWeights& w = *layer.recurrent;
  const int hidden = config.hidden_size, values = recurrent.value_channels();
  const int all = values + recurrent.channels + recurrent.value_heads;
  RETURN_IF_ERROR(plan.stacked(
      {PackingPlan::linear(prefix + "in_proj", all, recurrent.projection_bias)}, hidden, w.input));
  RETURN_IF_ERROR(find_convolution(plan, prefix + "conv1d", w));
  RETURN_IF_ERROR(find_decays(plan, prefix, w));
  ASSIGN_OR_RETURN(w.skip, plan.vector(prefix + "D", recurrent.value_heads));
  ASSIGN_OR_RETURN(w.norm, plan.vector(prefix + "norm.weight", values));
  return plan.stacked({PackingPlan::linear(prefix + "out_proj", hidden, recurrent.projection_bias)},
                      values, layer.output);
}

Status find_gated_convolution(PackingPlan& plan, const std::string& prefix, LayerWeights& layer) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  const bool biased = config.recurrent.projection_bias;
  RETURN_IF_ERROR(plan.stacked({PackingPlan::linear(prefix + "in_proj", 3 * hidden, biased)},
                               hidden, layer.recurrent->input));
  RETURN_IF_ERROR(find_convolution(plan, prefix + "conv", *layer.recurrent));
  return plan.stacked({PackingPlan::linear(prefix + "out_proj", hidden, biased)}, hidden,
                      layer.output);
}

}  // namespace

Status find_recurrent(PackingPlan& plan, const std::string& prefix, LayerWeights& w) {
  w.recurrent = std::make_unique<RecurrentWeights>();
  switch (plan.config().recurrent.kind) {
    case Recurrence::kConvolution: return find_gated_convolution(plan, prefix + "conv.", w);
    case Recurrence::kDeltaNet: return find_delta_net(plan, prefix + "linear_attn.", w);
    case Recurrence::kMamba: return find_mamba(plan, prefix + "mamba.", w);
  }
  return {};
}

}  // namespace cascade
