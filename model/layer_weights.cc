// Names follow transformers. Tensors of GGUF files come under the same names
// (model/gguf/tensors.h); there, experts are slices of one tensor, whose name lacks their number.
#include "model/layer_weights.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/safetensors.h"

namespace cascade {
namespace {

// The names of a mixture's tensors, after that of the layer.
struct MixtureNames {
  std::string_view router;
  std::string_view experts;  // before the number
  std::string_view gate, up, down;
};
constexpr MixtureNames kMlpNames = {"mlp.gate", "mlp.experts.", "gate_proj", "up_proj",
                                    "down_proj"};
constexpr MixtureNames kBlockSparseNames = {"block_sparse_moe.gate", "block_sparse_moe.experts.",
                                            "w1", "w3", "w2"};

Status find_norms(PackingPlan& plan, const std::string& prefix, LayerWeights& w) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  // Models without output norms name the MLP's input norm after the attention before it.
  const std::string mlp_input =
      config.output_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight";
  if (config.input_norms) {
    ASSIGN_OR_RETURN(w.attention_norm, plan.norm(prefix + "input_layernorm.weight", hidden));
    ASSIGN_OR_RETURN(w.mlp_norm, plan.norm(prefix + mlp_input, hidden));
  }
  if (config.output_norms) {
    ASSIGN_OR_RETURN(w.attention_output_norm,
                     plan.norm(prefix + "post_attention_layernorm.weight", hidden));
    ASSIGN_OR_RETURN(w.mlp_output_norm,
                     plan.norm(prefix + "post_feedforward_layernorm.weight", hidden));
  }
  if (config.qk_norm == QkNorm::kNone) return {};
  const bool is_whole = config.qk_norm == QkNorm::kWhole;
  const int q_size = is_whole ? config.query_heads * config.head_dim : config.head_dim;
  const int k_size = is_whole ? config.kv_heads * config.head_dim : config.head_dim;
  ASSIGN_OR_RETURN(w.query_norm, plan.norm(prefix + "self_attn.q_norm.weight", q_size));
  ASSIGN_OR_RETURN(w.key_norm, plan.norm(prefix + "self_attn.k_norm.weight", k_size));
  return {};
}

Status find_attention(PackingPlan& plan, const std::string& prefix, LayerWeights& w) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  const int q_size = config.query_heads * config.head_dim;
  const int kv_size = config.kv_heads * config.head_dim;
  if (config.fused_projections) {
    RETURN_IF_ERROR(
        plan.fused(prefix + "qkv_proj.weight", {q_size, kv_size, kv_size}, hidden, w.qkv));
  } else {
    RETURN_IF_ERROR(plan.stacked(
        {{prefix + "q_proj", q_size}, {prefix + "k_proj", kv_size}, {prefix + "v_proj", kv_size}},
        hidden, config.qkv_bias, w.qkv));
  }
  return plan.stacked({{prefix + "o_proj", hidden}}, q_size, config.output_bias, w.output);
}

// A gated MLP of `inner` channels.
Status find_mlp(PackingPlan& plan, const std::string& prefix, int inner, StackedMatrix& gate_up,
                StackedMatrix& down) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  if (config.fused_projections) {
    RETURN_IF_ERROR(plan.fused(prefix + "gate_up_proj.weight", {inner, inner}, hidden, gate_up));
  } else {
    RETURN_IF_ERROR(plan.stacked({{prefix + "gate_proj", inner}, {prefix + "up_proj", inner}},
                                 hidden, config.mlp_bias, gate_up));
  }
  return plan.stacked({{prefix + "down_proj", hidden}}, inner, config.mlp_bias, down);
}

Status find_experts(PackingPlan& plan, const std::string& prefix, const MixtureNames& names,
                    MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const std::string experts = prefix + std::string(names.experts);
  const auto part = [&](std::string_view name, int expert, int n) -> PackingPlan::Part {
    const std::string together = experts + std::string(name);
    if (plan.has(together + ".weight")) return {together, n, expert, mixture.experts};
    return {experts + std::to_string(expert) + "." + std::string(name), n};
  };
  for (int expert = 0; expert < mixture.experts; ++expert) {
    const int inner = mixture.intermediate_size;
    RETURN_IF_ERROR(plan.stacked({part(names.gate, expert, inner), part(names.up, expert, inner)},
                                 config.hidden_size, false, w.gate_up.emplace_back()));
    RETURN_IF_ERROR(plan.stacked({part(names.down, expert, config.hidden_size)}, inner, false,
                                 w.down.emplace_back()));
  }
  return {};
}

Status find_mixture(PackingPlan& plan, const std::string& prefix, MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const MixtureNames& names =
      mixture.names == ExpertNames::kBlockSparse ? kBlockSparseNames : kMlpNames;
  const std::string router = prefix + std::string(names.router);
  RETURN_IF_ERROR(plan.exact(router + ".weight", mixture.experts, config.hidden_size, w.router));
  if (mixture.choice_bias) {
    ASSIGN_OR_RETURN(w.choice_bias,
                     plan.vector(router + ".e_score_correction_bias", mixture.experts));
  }
  RETURN_IF_ERROR(find_experts(plan, prefix, names, w));
  if (mixture.shared_intermediate_size == 0) return {};
  return find_mlp(plan, prefix + "mlp.shared_experts.", mixture.shared_intermediate_size,
                  w.gate_up.emplace_back(), w.down.emplace_back());
}

}  // namespace

Status find_layer(PackingPlan& plan, int index, LayerWeights& w) {
  const std::string prefix = std::string(kLayersPrefix) + std::to_string(index) + ".";
  RETURN_IF_ERROR(find_norms(plan, prefix, w));
  RETURN_IF_ERROR(find_attention(plan, prefix + "self_attn.", w));
  const ModelConfig& config = plan.config();
  if (config.mixture.is_mixture(index)) {
    w.mixture = std::make_unique<MixtureWeights>();
    return find_mixture(plan, prefix, *w.mixture);
  }
  return find_mlp(plan, prefix + "mlp.", config.intermediate_size, w.gate_up, w.down);
}

}  // namespace cascade
