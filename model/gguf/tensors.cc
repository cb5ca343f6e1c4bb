// Names of tensors in GGUF files and in checkpoints, and the order of rows.
#include "model/gguf/tensors.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <span>
#include <utility>

namespace cascade {
namespace {

struct NamePair {
  std::string_view gguf;
  std::string_view checkpoint;
};

constexpr std::array<NamePair, 6> kModelNames = {{
    {"token_embd", "model.embed_tokens"},
    {"output_norm", "model.norm"},
    {"output", "lm_head"},
    {"per_layer_token_embd", "model.embed_tokens_per_layer"},
    {"per_layer_model_proj", "model.per_layer_model_projection"},
    {"per_layer_proj_norm", "model.per_layer_projection_norm"},
}};
// For lfm2 and lfm2moe. The norm is the last one, whatever its name says.
constexpr std::array<NamePair, 3> kLfm2ModelNames = {{
    {"token_embd", "model.embed_tokens"},
    {"token_embd_norm", "model.embedding_norm"},
    {"output", "lm_head"},
}};
constexpr std::array<NamePair, 7> kLayerNames = {{
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.o_proj"},
    {"attn_q_norm", "self_attn.q_norm"},
    {"attn_k_norm", "self_attn.k_norm"},
    {"ffn_down", "mlp.down_proj"},
}};
constexpr std::array<NamePair, 2> kNorms = {{
    {"attn_norm", "input_layernorm"},
    {"ffn_norm", "post_attention_layernorm"},
}};
// For architectures that norm the outputs of attention and MLP.
constexpr std::array<NamePair, 4> kNormsWithOutputs = {{
    {"attn_norm", "input_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
    {"ffn_norm", "pre_feedforward_layernorm"},
    {"post_ffw_norm", "post_feedforward_layernorm"},
}};
constexpr std::array<NamePair, 2> kMlp = {{
    {"ffn_gate", "mlp.gate_proj"},
    {"ffn_up", "mlp.up_proj"},
}};
constexpr std::array<NamePair, 2> kFused = {{
    {"attn_qkv", "self_attn.qkv_proj"},
    {"ffn_up", "mlp.gate_up_proj"},
}};
// The gate of an expert that all tokens use. The files have a vector, checkpoints a matrix of one
// row.
constexpr std::string_view kSharedGate = "ffn_gate_inp_shexp";
// For mixtures of experts. A tensor *_exps holds all experts of a layer; its other name is that of
// an expert's tensor, without the number.
constexpr std::array<NamePair, 7> kExperts = {{
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_shexp", "mlp.shared_experts.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_experts.up_proj"},
    {"ffn_down_shexp", "mlp.shared_experts.down_proj"},
}};
// For qwen2moe.
constexpr std::array<NamePair, 8> kQwen2Experts = {{
    {"ffn_gate_inp", "mlp.gate"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
    {"ffn_gate_shexp", "mlp.shared_expert.gate_proj"},
    {"ffn_up_shexp", "mlp.shared_expert.up_proj"},
    {"ffn_down_shexp", "mlp.shared_expert.down_proj"},
    {kSharedGate, "mlp.shared_expert_gate"},
}};
// For granitemoe.
constexpr std::array<NamePair, 7> kGraniteExperts = {{
    {"ffn_gate_inp", "block_sparse_moe.router.layer"},
    {"ffn_gate_exps", "block_sparse_moe.gate_proj"},
    {"ffn_up_exps", "block_sparse_moe.up_proj"},
    {"ffn_down_exps", "block_sparse_moe.down_proj"},
    {"ffn_gate_shexp", "shared_mlp.gate_proj"},
    {"ffn_up_shexp", "shared_mlp.up_proj"},
    {"ffn_down_shexp", "shared_mlp.down_proj"},
}};
constexpr std::array<NamePair, 4> kMixtralExperts = {{
    {"ffn_gate_inp", "block_sparse_moe.gate"},
    {"ffn_gate_exps", "block_sparse_moe.experts.w1"},
    {"ffn_up_exps", "block_sparse_moe.experts.w3"},
    {"ffn_down_exps", "block_sparse_moe.experts.w2"},
}};
constexpr std::array<NamePair, 4> kGptOssExperts = {{
    {"ffn_gate_inp", "mlp.router"},
    {"ffn_gate_exps", "mlp.experts.gate_proj"},
    {"ffn_up_exps", "mlp.experts.up_proj"},
    {"ffn_down_exps", "mlp.experts.down_proj"},
}};
// For gemma4, beside kNormsWithOutputs.
constexpr std::array<NamePair, 7> kGemma4Names = {{
    {"inp_gate", "per_layer_input_gate"},
    {"proj", "per_layer_projection"},
    {"post_norm", "post_per_layer_input_norm"},
    {"ffn_gate_inp", "router.proj"},
    {"post_ffw_norm_1", "post_feedforward_layernorm_1"},
    {"pre_ffw_norm_2", "pre_feedforward_layernorm_2"},
    {"post_ffw_norm_2", "post_feedforward_layernorm_2"},
}};
// For qwen3next, qwen35 and qwen35moe. Files of qwen3next have ssm_in in place of attn_qkv and
// attn_gate if they are older.
constexpr std::array<NamePair, 5> kDeltaNet = {{
    {"attn_qkv", "linear_attn.in_proj_qkv"},
    {"attn_gate", "linear_attn.in_proj_z"},
    {"ssm_conv1d", "linear_attn.conv1d"},
    {"ssm_norm", "linear_attn.norm"},
    {"ssm_out", "linear_attn.out_proj"},
}};
constexpr std::array<NamePair, 2> kDeltaNetTogether = {{
    {"ssm_in", "linear_attn.in_proj_qkvz"},
    {"ssm_ba", "linear_attn.in_proj_ba"},
}};
constexpr std::array<NamePair, 2> kDeltaNetApart = {{
    {"ssm_alpha", "linear_attn.in_proj_a"},
    {"ssm_beta", "linear_attn.in_proj_b"},
}};
// For granitehybrid.
constexpr std::array<NamePair, 4> kMamba = {{
    {"ssm_in", "mamba.in_proj"},
    {"ssm_conv1d", "mamba.conv1d"},
    {"ssm_norm", "mamba.norm"},
    {"ssm_out", "mamba.out_proj"},
}};
// For lfm2 and lfm2moe.
constexpr std::array<NamePair, 15> kLfm2Names = {{
    {"attn_norm", "operator_norm"},
    {"ffn_norm", "ffn_norm"},
    {"attn_q", "self_attn.q_proj"},
    {"attn_k", "self_attn.k_proj"},
    {"attn_v", "self_attn.v_proj"},
    {"attn_output", "self_attn.out_proj"},
    {"attn_q_norm", "self_attn.q_layernorm"},
    {"attn_k_norm", "self_attn.k_layernorm"},
    {"ffn_gate", "feed_forward.w1"},
    {"ffn_up", "feed_forward.w3"},
    {"ffn_down", "feed_forward.w2"},
    {"shortconv.conv", "conv.conv"},
    {"shortconv.in_proj", "conv.in_proj"},
    {"shortconv.out_proj", "conv.out_proj"},
    {"ffn_gate_inp", "feed_forward.gate"},
}};
constexpr std::array<NamePair, 3> kLfm2Experts = {{
    {"ffn_gate_exps", "feed_forward.experts.w1"},
    {"ffn_up_exps", "feed_forward.experts.w3"},
    {"ffn_down_exps", "feed_forward.experts.w2"},
}};
// For glm4moe, gpt-oss, qwen3next, qwen35 and qwen35moe.
constexpr std::array<NamePair, 2> kNormsByPlace = {{
    {"attn_norm", "input_layernorm"},
    {"post_attention_norm", "post_attention_layernorm"},
}};
// Whole names after that of the layer: of glm4moe, and of gpt-oss.
constexpr std::array<NamePair, 2> kWholeNames = {{
    {"exp_probs_b.bias", "mlp.gate.e_score_correction_bias"},
    {"attn_sinks.weight", "self_attn.sinks"},
}};
// Whole names of gemma4.
constexpr std::array<NamePair, 5> kGemma4WholeNames = {{
    {"layer_output_scale.weight", "layer_scalar"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
    {"ffn_down_exps.weight", "experts.down_proj"},
}};
// Whole names of recurrent layers.
constexpr std::array<NamePair, 2> kDeltaNetWholeNames = {{
    {"ssm_a", "linear_attn.A_log"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
}};
constexpr std::array<NamePair, 3> kMambaWholeNames = {{
    {"ssm_a", "mamba.A_log"},
    {"ssm_dt.bias", "mamba.dt_bias"},
    {"ssm_d", "mamba.D"},
}};
constexpr std::array<NamePair, 1> kLfm2WholeNames = {{
    {"exp_probs_b.bias", "feed_forward.expert_bias"},
}};
constexpr std::string_view kGgufLayers = "blk.";
constexpr std::string_view kCheckpointLayers = "model.layers.";
// RoPE frequencies. They follow from the configuration; model/gguf/config.cc checks this.
constexpr std::array<std::string_view, 3> kRopeTensors = {
    "rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"};
// The architectures whose files have the rows of Q and K interleaved.
constexpr std::array<std::string_view, 6> kInterleaved = {"granite", "granitehybrid", "granitemoe",
                                                          "llama",   "mistral3",      "smollm3"};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

// The names of an architecture's tensors: of those outside layers, and of those of a layer. No name
// is in two of the tables, neither as a GGUF name nor as a checkpoint name.
struct TensorNames {
  std::array<std::span<const NamePair>, 6> tables;
  std::span<const NamePair> whole;
  std::span<const NamePair> model = kModelNames;
};

// The names of a hybrid's tensors; nullopt for other architectures.
std::optional<TensorNames> hybrid_names(std::string_view architecture) {
  if (is_one_of(architecture, {"qwen3next", "qwen3_next"})) {
    return TensorNames{
        {kLayerNames, kNormsByPlace, kMlp, kQwen2Experts, kDeltaNet, kDeltaNetTogether},
        kDeltaNetWholeNames};
  }
  if (is_one_of(architecture, {"qwen35", "qwen35moe", "qwen3_5_text", "qwen3_5_moe_text"})) {
    return TensorNames{{kLayerNames, kNormsByPlace, kMlp, kQwen2Experts, kDeltaNet, kDeltaNetApart},
                       kDeltaNetWholeNames};
  }
  if (is_one_of(architecture, {"granitehybrid", "granitemoehybrid"})) {
    return TensorNames{{kLayerNames, kNorms, kMlp, kGraniteExperts, kMamba}, kMambaWholeNames};
  }
  if (is_one_of(architecture, {"lfm2", "lfm2moe", "lfm2_moe"})) {
    return TensorNames{{kLfm2Names, kLfm2Experts}, kLfm2WholeNames, kLfm2ModelNames};
  }
  return std::nullopt;
}

TensorNames tensor_names(std::string_view architecture) {
  if (const auto names = hybrid_names(architecture)) return *names;
  TensorNames all = {{kLayerNames, kNorms, kMlp}, kWholeNames};
  auto& names = all.tables;
  const bool is_glm = is_one_of(architecture, {"glm4moe", "glm4_moe"});
  if (is_glm || is_one_of(architecture, {"qwen3moe", "qwen3_moe", "olmoe"})) names[3] = kExperts;
  if (is_one_of(architecture, {"qwen2moe", "qwen2_moe"})) names[3] = kQwen2Experts;
  if (is_one_of(architecture, {"granitemoe", "granitemoeshared"})) names[3] = kGraniteExperts;
  const bool is_gpt_oss = is_one_of(architecture, {"gpt-oss", "gpt_oss"});
  if (is_one_of(architecture, {"llama", "mixtral"})) names[3] = kMixtralExperts;
  if (is_gpt_oss) names[3] = kGptOssExperts;
  if (is_glm || is_gpt_oss) names[1] = kNormsByPlace;
  if (is_one_of(architecture, {"gemma3", "gemma3_text", "olmo2", "olmo3"})) {
    names[1] = kNormsWithOutputs;
  }
  if (architecture == "phi3") names[2] = kFused;
  if (is_one_of(architecture, {"gemma4", "gemma4_text"})) {
    names[1] = kNormsWithOutputs;
    names[3] = kGemma4Names;
    all.whole = kGemma4WholeNames;
  }
  return all;
}

// The layer's number, such as "3", and the rest of the name after the next dot.
struct LayerName {
  std::string_view number;
  std::string_view rest;
};
std::optional<LayerName> layer_name(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view number = name.substr(0, dot);
  int layer = -1;
  const auto [end, error] = std::from_chars(number.data(), number.data() + dot, layer);
  const bool is_plain = error == std::errc() && end == number.data() + dot && layer >= 0 &&
                        number == std::to_string(layer);
  if (!is_plain) return std::nullopt;
  return LayerName{number, name.substr(dot + 1)};
}

// The name in the other column of the tables, with the same ".weight" or ".bias".
std::optional<std::string> translated(std::string_view name,
                                      std::span<const std::span<const NamePair>> tables,
                                      std::string_view NamePair::*from,
                                      std::string_view NamePair::*to) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view kind = name.substr(dot);
  if (kind != ".weight" && kind != ".bias") return std::nullopt;
  for (const std::span<const NamePair> table : tables) {
    const auto found = std::ranges::find(table, name.substr(0, dot), from);
    if (found != table.end()) return std::string((*found).*to) + std::string(kind);
  }
  return std::nullopt;
}

std::optional<std::string> translated(std::string_view name, const TensorNames& names,
                                      std::string_view NamePair::*from,
                                      std::string_view NamePair::*to, std::string_view from_layers,
                                      std::string_view to_layers) {
  if (const auto layer = layer_name(name, from_layers)) {
    const auto whole = std::ranges::find(names.whole, layer->rest, from);
    const auto rest = whole != names.whole.end() ? std::string((*whole).*to)
                                                 : translated(layer->rest, names.tables, from, to);
    if (!rest) return std::nullopt;
    return std::string(to_layers) + std::string(layer->number) + "." + *rest;
  }
  return translated(name, std::array{names.model}, from, to);
}

// The KV heads of a layer: an element of a list, or the number for all layers.
Result<std::optional<int64_t>> kv_heads_of(const GgufMetadata& metadata, const std::string& key,
                                           size_t layer, int64_t max) {
  const GgufValue* value = metadata.find(key);
  if (value == nullptr || !std::holds_alternative<GgufArray>(*value)) {
    return metadata.whole(key, 1, max);
  }
  ASSIGN_OR_RETURN(const std::vector<int32_t> list, metadata.wholes(key));
  if (layer < list.size() && list[layer] >= 1 && list[layer] <= max) {
    return std::optional<int64_t>(list[layer]);
  }
  return invalid_argument(key, "must have a number from 1 to " + std::to_string(max) +
                                   " for layer " + std::to_string(layer) + ", which has attn_k");
}

// The number of rows of a head of `tensor` if they are interleaved, else 0.
Result<int> interleaved_rows(const GgufFiles& files, const GgufTensor& tensor, size_t layer) {
  const bool is_query = tensor.name.find(".attn_q.") != std::string::npos;
  const bool is_key = tensor.name.find(".attn_k.") != std::string::npos;
  if (!is_query && !is_key) return 0;
  const GgufMetadata& metadata = files.metadata();
  ASSIGN_OR_RETURN(const std::string architecture, metadata.required_text("general.architecture"));
  if (std::ranges::count(kInterleaved, architecture) == 0) return 0;
  constexpr int64_t kHeadsMax = 65'536;  // any bound will do: config.cc has the model's
  const std::string key = architecture + ".attention.head_count";
  ASSIGN_OR_RETURN(int64_t heads, metadata.required_whole(key, 1, kHeadsMax));
  if (is_key) {
    ASSIGN_OR_RETURN(const auto kv_heads, kv_heads_of(metadata, key + "_kv", layer, kHeadsMax));
    heads = kv_heads.value_or(heads);
  }
  const auto rows = static_cast<int64_t>(tensor.dimensions.back());
  if (rows % (2 * heads) != 0 || rows / heads > INT32_MAX) {
    return invalid_argument(tensor.name, "has " + std::to_string(rows) + " rows, which " +
                                             std::to_string(heads) + " heads cannot share");
  }
  return static_cast<int>(rows / heads);
}

// The number of the first layer that only predicts further tokens; such layers are the last ones.
Result<int64_t> first_draft_layer(const GgufMetadata& metadata, const std::string& architecture) {
  if (!is_one_of(architecture, {"glm4moe", "qwen35", "qwen35moe"})) return INT64_MAX;
  ASSIGN_OR_RETURN(const auto layers, metadata.whole(architecture + ".block_count", 0, INT32_MAX));
  ASSIGN_OR_RETURN(const auto drafts,
                   metadata.whole(architecture + ".nextn_predict_layers", 0, INT32_MAX));
  return drafts.value_or(0) == 0 ? INT64_MAX : layers.value_or(0) - *drafts;
}

// The shape of a tensor in a checkpoint, where files have another one with the same elements.
// `rest` is the name after that of the layer.
std::vector<int64_t> checkpoint_shape(std::string_view rest, std::vector<int64_t> shape) {
  if (rest.starts_with(kSharedGate) && shape.size() == 1) return {1, shape[0]};
  if (shape.size() != 2) return shape;
  if (is_one_of(rest, {"ssm_conv1d.weight", "shortconv.conv.weight"})) {
    return {shape[0], 1, shape[1]};
  }
  // Columns, and the weights of a norm in groups.
  if (is_one_of(rest, {"ssm_a", "ssm_d", "ssm_norm.weight"})) return {shape[0] * shape[1]};
  return shape;
}

}  // namespace

std::optional<std::string> checkpoint_tensor_name(std::string_view gguf_name,
                                                  std::string_view architecture) {
  return translated(gguf_name, tensor_names(architecture), &NamePair::gguf, &NamePair::checkpoint,
                    kGgufLayers, kCheckpointLayers);
}

std::optional<std::string> gguf_tensor_name(std::string_view checkpoint_name,
                                            std::string_view architecture) {
  return translated(checkpoint_name, tensor_names(architecture), &NamePair::checkpoint,
                    &NamePair::gguf, kCheckpointLayers, kGgufLayers);
}

Result<TensorFiles> gguf_tensors(GgufFiles files) {
  std::vector<TensorFiles::Source> sources;
  std::vector<TensorFiles::Located> tensors;
  ASSIGN_OR_RETURN(const std::string architecture,
                   files.metadata().required_text("general.architecture"));
  ASSIGN_OR_RETURN(const int64_t first_draft, first_draft_layer(files.metadata(), architecture));
  for (const GgufFiles::Part& part : files.parts()) {
    for (const GgufTensor& tensor : part.header.tensors) {
      if (std::ranges::count(kRopeTensors, tensor.name) != 0) continue;
      const auto layer = layer_name(tensor.name, kGgufLayers);
      if (layer && std::stoll(std::string(layer->number)) >= first_draft) continue;
      const std::optional<std::string> name = checkpoint_tensor_name(tensor.name, architecture);
      if (!name) {
        return unsupported(tensor.name, "is a tensor that the supported architectures do not have");
      }
      TensorEntry entry;
      entry.name = *name;
      entry.type_name = to_string(tensor.type);
      entry.shape = checkpoint_shape(layer ? layer->rest : tensor.name,
                                     {tensor.dimensions.rbegin(), tensor.dimensions.rend()});
      entry.begin = tensor.begin;
      entry.end = tensor.end;
      const size_t index = layer ? std::stoull(std::string(layer->number)) : 0;
      ASSIGN_OR_RETURN(entry.interleaved_head_rows, interleaved_rows(files, tensor, index));
      tensors.push_back({std::move(entry), sources.size(), 0});
    }
    sources.push_back({part.path, part.file.identity()});
  }
  const std::filesystem::path place = files.path();
  return TensorFiles(place, std::move(files).release_files(), std::move(sources),
                     std::move(tensors));
}

}  // namespace cascade
