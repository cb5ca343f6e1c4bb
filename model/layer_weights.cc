// Names follow transformers. Tensors of GGUF files come under the same names
// (model/gguf/tensors.h); there, experts are slices of one tensor, whose name lacks their number.
#include "model/layer_weights.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/recurrent_weights.h"
#include "model/safetensors.h"

namespace cascade {
namespace {

using Part = PackingPlan::Part;

// The names of a mixture's tensors, after that of the layer.
struct MixtureNames {
  std::string_view router;
  std::string_view experts;                              // before the number
  std::string_view gate, up, down;                       // of an expert
  std::string_view fused_gate_up = {}, fused_down = {};  // of all experts, after `experts`
  std::string_view shared = {};                          // before the matrices of the shared expert
  std::string_view shared_gate = {};
  std::string_view choice_bias = "mlp.gate.e_score_correction_bias";
};
constexpr MixtureNames kMlpNames = {.router = "mlp.gate",
                                    .experts = "mlp.experts.",
                                    .gate = "gate_proj",
                                    .up = "up_proj",
                                    .down = "down_proj",
                                    .fused_gate_up = "gate_up_proj",
                                    .fused_down = "down_proj",
                                    .shared = "mlp.shared_experts."};
constexpr MixtureNames kQwen2Names = [] {
  MixtureNames names = kMlpNames;
  names.shared = "mlp.shared_expert.";
  names.shared_gate = "mlp.shared_expert_gate";
  return names;
}();
constexpr MixtureNames kBlockSparseNames = {.router = "block_sparse_moe.gate",
                                            .experts = "block_sparse_moe.experts.",
                                            .gate = "w1",
                                            .up = "w3",
                                            .down = "w2"};
// Granite's matrix of gate and up, one after the other, and the one of down.
constexpr std::string_view kInputLinear = "input_linear.weight";
constexpr std::string_view kOutputLinear = "output_linear.weight";
// GGUF files have gate and up apart.
constexpr MixtureNames kGraniteNames = {.router = "block_sparse_moe.router.layer",
                                        .experts = "block_sparse_moe.",
                                        .gate = "gate_proj",
                                        .up = "up_proj",
                                        .down = "down_proj",
                                        .fused_gate_up = kInputLinear,
                                        .fused_down = kOutputLinear,
                                        .shared = "shared_mlp."};
constexpr MixtureNames kJoinedNames = {.router = "mlp.router",
                                       .experts = "mlp.experts.",
                                       .gate = "gate_proj",
                                       .up = "up_proj",
                                       .down = "down_proj"};
constexpr MixtureNames kBesideMlpNames = [] {
  MixtureNames names = kMlpNames;
  names.router = "router.proj";
  names.experts = "experts.";
  names.shared = {};
  return names;
}();

constexpr MixtureNames kLfm2Names = {.router = "feed_forward.gate",
                                     .experts = "feed_forward.experts.",
                                     .gate = "w1",
                                     .up = "w3",
                                     .down = "w2",
                                     .fused_gate_up = "gate_up_proj",
                                     .fused_down = "down_proj",
                                     .choice_bias = "feed_forward.expert_bias"};

const MixtureNames& names_of(ExpertNames names) {
  switch (names) {
    case ExpertNames::kMlp: return kMlpNames;
    case ExpertNames::kQwen2: return kQwen2Names;
    case ExpertNames::kBlockSparse: return kBlockSparseNames;
    case ExpertNames::kGranite: return kGraniteNames;
    case ExpertNames::kJoined: return kJoinedNames;
    case ExpertNames::kBesideMlp: return kBesideMlpNames;
    case ExpertNames::kLfm2: return kLfm2Names;
  }
  return kMlpNames;
}

// The names of a layer's other tensors, after that of the layer.
struct UsualNames {
  std::string_view attention_norm = "input_layernorm.weight";
  // Models without output norms name the MLP's input norm after the attention before it.
  std::string_view mlp_norm = "post_attention_layernorm.weight";
  std::string_view query_norm = "self_attn.q_norm.weight";
  std::string_view key_norm = "self_attn.k_norm.weight";
  std::string_view attention_output = "self_attn.o_proj";
  std::string_view mlp = "mlp.";
  std::string_view gate = "gate_proj", up = "up_proj", down = "down_proj";
};
constexpr UsualNames kUsual = {};
constexpr UsualNames kLfm2 = {.attention_norm = "operator_norm.weight",
                              .mlp_norm = "ffn_norm.weight",
                              .query_norm = "self_attn.q_layernorm.weight",
                              .key_norm = "self_attn.k_layernorm.weight",
                              .attention_output = "self_attn.out_proj",
                              .mlp = "feed_forward.",
                              .gate = "w1",
                              .up = "w3",
                              .down = "w2"};

const UsualNames& names_of(const ModelConfig& config) {
  return config.layer_names == LayerNames::kLfm2 ? kLfm2 : kUsual;
}

Status find_norms(PackingPlan& plan, const std::string& prefix, const AttentionShape& shape,
                  LayerWeights& w) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  const UsualNames& names = names_of(config);
  const std::string mlp_input(config.output_norms ? "pre_feedforward_layernorm.weight"
                                                  : names.mlp_norm);
  if (config.input_norms) {
    ASSIGN_OR_RETURN(w.attention_norm,
                     plan.norm(prefix + std::string(names.attention_norm), hidden));
    ASSIGN_OR_RETURN(w.mlp_norm, plan.norm(prefix + mlp_input, hidden));
  }
  if (config.output_norms) {
    ASSIGN_OR_RETURN(w.attention_output_norm,
                     plan.norm(prefix + "post_attention_layernorm.weight", hidden));
    ASSIGN_OR_RETURN(w.mlp_output_norm,
                     plan.norm(prefix + "post_feedforward_layernorm.weight", hidden));
  }
  if (config.value_norms) w.value_norm.assign(size_t(shape.head_dim), 1.0f);
  const bool attends = shape.kv_heads > 0;
  if (config.qk_norm == QkNorm::kNone || !attends) return {};
  const bool is_whole = config.qk_norm == QkNorm::kWhole;
  const int q_size = is_whole ? config.query_heads * shape.head_dim : shape.head_dim;
  const int k_size = is_whole ? shape.kv_heads * shape.head_dim : shape.head_dim;
  ASSIGN_OR_RETURN(w.query_norm, plan.norm(prefix + std::string(names.query_norm), q_size));
  if (!shape.writes_kv) return {};
  ASSIGN_OR_RETURN(w.key_norm, plan.norm(prefix + std::string(names.key_norm), k_size));
  return {};
}

// The projection of queries. With gates, each head's queries are before its gates.
Part query_part(const ModelConfig& config, const std::string& name, const AttentionShape& shape) {
  const int q_size = config.query_heads * shape.head_dim;
  if (!config.attention_gate) return PackingPlan::linear(name, q_size, config.qkv_bias);
  Part part = PackingPlan::linear(name, 2 * q_size, config.qkv_bias);
  part.interleaved = 2 * q_size;
  part.interleaved_run = shape.head_dim;
  return part;
}

Status find_attention(PackingPlan& plan, const std::string& layer, const AttentionShape& shape,
                      LayerWeights& w) {
  const std::string prefix = layer + "self_attn.";
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  const int q_size = config.query_heads * shape.head_dim;
  const int kv_size = shape.kv_heads * shape.head_dim;
  if (config.fused_projections) {
    RETURN_IF_ERROR(
        plan.fused(prefix + "qkv_proj.weight", {q_size, kv_size, kv_size}, hidden, w.qkv));
  } else {
    std::vector<Part> parts = {query_part(config, prefix + "q_proj", shape)};
    if (shape.writes_kv)
      parts.push_back(PackingPlan::linear(prefix + "k_proj", kv_size, config.qkv_bias));
    if (shape.writes_kv && !shape.key_is_value) {
      parts.push_back(PackingPlan::linear(prefix + "v_proj", kv_size, config.qkv_bias));
    }
    RETURN_IF_ERROR(plan.stacked(parts, hidden, w.qkv));
  }
  if (config.attention_sinks) {
    ASSIGN_OR_RETURN(w.sink_logits, plan.vector(prefix + "sinks", config.query_heads));
  }
  const std::string output = layer + std::string(names_of(config).attention_output);
  return plan.stacked({PackingPlan::linear(output, hidden, config.output_bias)}, q_size, w.output);
}

// A gated MLP of `inner` channels.
Status find_mlp(PackingPlan& plan, const std::string& prefix, int inner, StackedMatrix& gate_up,
                StackedMatrix& down) {
  const ModelConfig& config = plan.config();
  const UsualNames& names = names_of(config);
  const int hidden = config.hidden_size;
  // GGUF files have the usual names.
  if (prefix.ends_with(kGraniteNames.shared) && !plan.has(prefix + "gate_proj.weight")) {
    const std::string input = prefix + std::string(kInputLinear);
    RETURN_IF_ERROR(plan.fused(input, {inner, inner}, hidden, gate_up));
    return plan.stacked({{prefix + std::string(kOutputLinear), hidden}}, inner, down);
  }
  if (config.fused_projections) {
    RETURN_IF_ERROR(plan.fused(prefix + "gate_up_proj.weight", {inner, inner}, hidden, gate_up));
  } else {
    const auto part = [&](std::string_view name) {
      return PackingPlan::linear(prefix + std::string(name), inner, config.mlp_bias);
    };
    RETURN_IF_ERROR(plan.stacked({part(names.gate), part(names.up)}, hidden, gate_up));
  }
  const std::string output = prefix + std::string(names.down);
  return plan.stacked({PackingPlan::linear(output, hidden, config.mlp_bias)}, inner, down);
}

// Experts as slices of two matrices: gate and up, whose channels take turns, and down. Either is a
// tensor whose rows are input channels, or a pair of tensors in MXFP4.
Status find_joined_experts(PackingPlan& plan, const std::string& experts, MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const int inner = mixture.intermediate_size, hidden = config.hidden_size;
  for (int expert = 0; expert < mixture.experts; ++expert) {
    const auto part = [&](const std::string& name, int n) -> Part {
      const std::string weight = experts + name;
      Part found = {weight, n, weight + "_bias", {expert, mixture.experts}};
      found.is_pair = !plan.has(weight) && plan.has(weight + "_blocks");
      found.transposed = !found.is_pair;
      return found;
    };
    Part both = part("gate_up_proj", 2 * inner);
    both.interleaved = 2 * inner;
    StackedMatrix& gate_up = w.gate_up.emplace_back();
    RETURN_IF_ERROR(plan.stacked({both}, hidden, gate_up));
    gate_up.offset = {0, inner};
    RETURN_IF_ERROR(plan.stacked({part("down_proj", hidden)}, inner, w.down.emplace_back()));
  }
  return {};
}

// Whether a tensor of gates, ups or downs holds all experts. If one does, the others must do so,
// too.
bool are_joined(const PackingPlan& plan, const std::string& experts, const MixtureNames& names) {
  return std::ranges::any_of(
      std::array{names.gate, names.up, names.down},
      [&](std::string_view name) { return plan.has(experts + std::string(name) + ".weight"); });
}

Status find_experts(PackingPlan& plan, const std::string& experts, const MixtureNames& names,
                    MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const bool is_joined = are_joined(plan, experts, names);
  const auto part = [&](std::string_view name, int expert, int n) -> Part {
    if (!is_joined) {
      const std::string alone = experts + std::to_string(expert) + "." + std::string(name);
      return PackingPlan::linear(alone, n, mixture.expert_bias);
    }
    Part found = PackingPlan::linear(experts + std::string(name), n, mixture.expert_bias);
    found.slice = {expert, mixture.experts};
    return found;
  };
  for (int expert = 0; expert < mixture.experts; ++expert) {
    const int inner = mixture.intermediate_size;
    RETURN_IF_ERROR(plan.stacked({part(names.gate, expert, inner), part(names.up, expert, inner)},
                                 config.hidden_size, w.gate_up.emplace_back()));
    RETURN_IF_ERROR(
        plan.stacked({part(names.down, expert, config.hidden_size)}, inner, w.down.emplace_back()));
  }
  return {};
}

// Experts as slices of two matrices: gate and up, one after the other, and down.
Status find_fused_experts(PackingPlan& plan, const std::string& experts, const MixtureNames& names,
                          MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const int inner = mixture.intermediate_size, hidden = config.hidden_size;
  for (int expert = 0; expert < mixture.experts; ++expert) {
    const TensorSlice slice = {expert, mixture.experts};
    StackedMatrix& gate_up = w.gate_up.emplace_back();
    const Part both = {experts + std::string(names.fused_gate_up), 2 * inner, "", slice};
    const Part down = {experts + std::string(names.fused_down), hidden, "", slice};
    RETURN_IF_ERROR(plan.stacked({both}, hidden, gate_up));
    gate_up.offset = {0, inner};
    RETURN_IF_ERROR(plan.stacked({down}, inner, w.down.emplace_back()));
  }
  return {};
}

// Finds the norms and factors of a mixture that stands beside an MLP.
Status find_beside_mlp(PackingPlan& plan, const std::string& prefix, MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size;
  ASSIGN_OR_RETURN(w.beside.router_input, plan.vector(prefix + "router.scale", hidden));
  const auto scale = static_cast<float>(1 / std::sqrt(double(hidden)));
  for (float& factor : w.beside.router_input) factor *= scale;
  ASSIGN_OR_RETURN(w.expert_scales,
                   plan.vector(prefix + "router.per_expert_scale", config.mixture.experts));
  ASSIGN_OR_RETURN(w.beside.input,
                   plan.norm(prefix + "pre_feedforward_layernorm_2.weight", hidden));
  ASSIGN_OR_RETURN(w.beside.output,
                   plan.norm(prefix + "post_feedforward_layernorm_2.weight", hidden));
  ASSIGN_OR_RETURN(w.beside.mlp_output,
                   plan.norm(prefix + "post_feedforward_layernorm_1.weight", hidden));
  return {};
}

Status find_routed_experts(PackingPlan& plan, const std::string& experts, const MixtureNames& names,
                           MixtureWeights& w) {
  const ExpertNames kind = plan.config().mixture.names;
  // GGUF files have three tensors in all mixtures but that of Gemma 4.
  const bool has_three = are_joined(plan, experts, names);
  if (kind == ExpertNames::kJoined && !has_three) return find_joined_experts(plan, experts, w);
  // Granite's folders always have fused experts; those of some other mixtures may.
  const bool has_fused =
      !names.fused_gate_up.empty() && plan.has(experts + std::string(names.fused_gate_up));
  if (has_fused || (kind == ExpertNames::kGranite && !has_three)) {
    return find_fused_experts(plan, experts, names, w);
  }
  return find_experts(plan, experts, names, w);
}

Status find_mixture(PackingPlan& plan, const std::string& prefix, MixtureWeights& w) {
  const ModelConfig& config = plan.config();
  const MixtureConfig& mixture = config.mixture;
  const MixtureNames& names = names_of(mixture.names);
  const std::string router = prefix + std::string(names.router);
  std::vector<Part> routers = {PackingPlan::linear(router, mixture.experts, mixture.router_bias)};
  if (mixture.shared_gate) {
    routers.push_back(PackingPlan::linear(prefix + std::string(names.shared_gate), 1, false));
  }
  RETURN_IF_ERROR(plan.exact(routers, config.hidden_size, w.router));
  if (mixture.choice_bias) {
    ASSIGN_OR_RETURN(w.choice_bias,
                     plan.vector(prefix + std::string(names.choice_bias), mixture.experts));
  }
  if (mixture.beside_mlp) RETURN_IF_ERROR(find_beside_mlp(plan, prefix, w));
  RETURN_IF_ERROR(find_routed_experts(plan, prefix + std::string(names.experts), names, w));
  if (!mixture.has_shared()) return {};
  return find_mlp(plan, prefix + std::string(names.shared), mixture.shared_intermediate_size,
                  w.gate_up.emplace_back(), w.down.emplace_back());
}

// Finds the matrices by which the layer adds its own input.
Status find_input(PackingPlan& plan, const std::string& prefix, LayerInputProjections& w) {
  const ModelConfig& config = plan.config();
  const int hidden = config.hidden_size, size = config.layer_input_size;
  RETURN_IF_ERROR(plan.stacked({PackingPlan::linear(prefix + "per_layer_input_gate", size, false)},
                               hidden, w.gate));
  RETURN_IF_ERROR(plan.stacked(
      {PackingPlan::linear(prefix + "per_layer_projection", hidden, false)}, size, w.output));
  ASSIGN_OR_RETURN(w.norm, plan.norm(prefix + "post_per_layer_input_norm.weight", hidden));
  return {};
}

}  // namespace

std::string_view final_norm_name(const ModelConfig& config) {
  return config.layer_names == LayerNames::kLfm2 ? "model.embedding_norm.weight"
                                                 : "model.norm.weight";
}

Status find_layer(PackingPlan& plan, int index, LayerWeights& w) {
  const std::string prefix = std::string(kLayersPrefix) + std::to_string(index) + ".";
  const ModelConfig& config = plan.config();
  const AttentionShape shape = config.attention_shape(index);
  RETURN_IF_ERROR(find_norms(plan, prefix, shape, w));
  if (config.recurrent.is_recurrent(index)) {
    RETURN_IF_ERROR(find_recurrent(plan, prefix, w));
  } else {
    RETURN_IF_ERROR(find_attention(plan, prefix, shape, w));
  }
  if (config.layer_input_size > 0) {
    w.input = std::make_unique<LayerInputProjections>();
    RETURN_IF_ERROR(find_input(plan, prefix, *w.input));
  }
  // A file may leave the factor out where it is 1.
  if (config.layer_scales && plan.has(prefix + "layer_scalar")) {
    ASSIGN_OR_RETURN(const std::vector<float> scale, plan.vector(prefix + "layer_scalar", 1));
    w.scale = scale.front();
  }
  if (config.mixture.is_mixture(index)) {
    w.mixture = std::make_unique<MixtureWeights>();
    RETURN_IF_ERROR(find_mixture(plan, prefix, *w.mixture));
    if (!config.mixture.beside_mlp) return {};
  }
  std::string mlp = prefix + std::string(names_of(config).mlp);
  // Granite 4 without experts calls its MLP the shared one, but not in GGUF files.
  const bool is_usual = plan.has(mlp + "gate_proj.weight") || plan.has(mlp + "down_proj.weight");
  if (config.mixture.names == ExpertNames::kGranite && !is_usual) {
    mlp = prefix + std::string(kGraniteNames.shared);
  }
  return find_mlp(plan, mlp, config.mlp_size(index), w.gate_up, w.down);
}

}  // namespace cascade
