// Reads config.json; every field is checked before it decides the size of anything.
#include "model/config.h"

#include <algorithm>
#include <cfloat>
#include <cmath>

#include "model/config_error.h"
#include "model/config_family.h"
#include "model/config_gemma4.h"
#include "model/config_layers.h"
#include "model/config_mixture.h"
#include "model/config_recurrent.h"
#include "model/config_rope.h"
#include "model/json_fields.h"
#include "model/text_part.h"

namespace cascade {
namespace {

// Several times the largest known dense models; products of two of them fit an int64_t, and
// heads x head_dim fits an int.
constexpr int64_t kHeadsMax = 512;
constexpr int64_t kHeadDimMax = 512;
constexpr int64_t kHiddenSizeMax = 65'536;
constexpr int64_t kVocabSizeMax = int64_t{1} << 21;
constexpr int64_t kContextTokensMax = int64_t{1} << 24;
constexpr int64_t kWidthStep = 8;  // kernels take whole groups of eight channels
constexpr double kRmsNormEpsMax = 1e-1;

// Far outside what models use, and normal numbers in f32, as are their reciprocals.
constexpr double kMultiplierMin = 1e-6;
constexpr double kMultiplierMax = 1e6;
// Twice the reciprocal is finite, and scores above it mean nothing.
constexpr double kSoftCapMin = 1e-2;
constexpr double kSoftCapMax = 1e6;

// The values that Gemma3TextConfig assumes if a file leaves the keys out.
constexpr double kQueryScalarDefault = 256;
constexpr std::string_view kGemmaActivation = "gelu_pytorch_tanh";

constexpr std::string_view kConfigFile = "config.json";

// A whole number in [min, max] that is a multiple of kWidthStep.
Result<int> required_width(const Json& config, std::string_view key, int64_t max) {
  ASSIGN_OR_RETURN(const int64_t width, required_int(config, key, kWidthStep, max));
  if (width % kWidthStep == 0) return static_cast<int>(width);
  return invalid_argument(std::string(key), "must be a multiple of " + std::to_string(kWidthStep) +
                                                ", got " + std::to_string(width));
}

Result<int> required_count(const Json& config, std::string_view key, int64_t max) {
  ASSIGN_OR_RETURN(const int64_t count, required_int(config, key, 1, max));
  return static_cast<int>(count);
}

Result<const ModelFamily*> read_family(const Json& config) {
  if (!config.is_object())
    return invalid_argument(std::string(kConfigFile), "must be a JSON object");
  ASSIGN_OR_RETURN(const std::string model_type, required_string(config, "model_type"));
  return model_family(model_type, "model_type");
}

// Refuses a configuration that needs other weights or other arithmetic than ours.
Status refuse_what_is_not_built(const Json& config, const ModelFamily& family) {
  if (const Json* quantization = find_field(config, "quantization_config")) {
    const Json* method =
        quantization->is_object() ? find_field(*quantization, "quant_method") : nullptr;
    const bool is_mxfp4 = method != nullptr && *method == "mxfp4";
    if (!is_mxfp4 || family.mixture != MixtureRule::kGptOss) {
      return unsupported("quantization_config",
                         "quantised checkpoints are not supported, except MXFP4 of gpt_oss");
    }
  }
  constexpr std::string_view kClip = "clip_qkv";
  if (find_field(config, kClip) != nullptr) {
    return unsupported(std::string(kClip), "is not supported: must be null");
  }
  if (!family.is_gemma) return {};
  constexpr std::string_view kBothWays = "use_bidirectional_attention";
  // Gemma 4 has "vision" for models that look ahead within images only.
  const Json* both_ways = find_field(config, kBothWays);
  if (family.is_gemma4 && both_ways != nullptr && *both_ways == "vision") return {};
  if (family.is_gemma4 && both_ways != nullptr && *both_ways == "all") {
    return unsupported(std::string(kBothWays), "\"all\" is not supported: must be \"vision\"");
  }
  ASSIGN_OR_RETURN(const bool sees_ahead, optional_bool(config, kBothWays, false));
  if (sees_ahead) return unsupported(std::string(kBothWays), "must be false");
  return {};
}

Result<Activation> read_activation(const Json& config, const ModelFamily& family) {
  if (family.clamped_swiglu) return Activation::kClampedSwiglu;
  const std::string_view key = family.is_gemma ? "hidden_activation" : "hidden_act";
  ASSIGN_OR_RETURN(const std::string name, family.is_gemma
                                               ? optional_string(config, key, kGemmaActivation)
                                               : required_string(config, key));
  if (name == "silu") return Activation::kSilu;
  if (name == kGemmaActivation) return Activation::kGeluTanh;
  return unsupported(std::string(key), quote_text(name) +
                                           " is not supported (supported: silu, "
                                           "gelu_pytorch_tanh)");
}

Status read_sizes(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(out.layers, required_count(config, "num_hidden_layers", kDecoderLayersMax));
  ASSIGN_OR_RETURN(out.hidden_size, required_width(config, "hidden_size", kHiddenSizeMax));
  ASSIGN_OR_RETURN(out.intermediate_size, required_width(config, "intermediate_size", kMlpSizeMax));
  ASSIGN_OR_RETURN(out.vocab_size, required_count(config, "vocab_size", kVocabSizeMax));
  ASSIGN_OR_RETURN(out.context_tokens_max,
                   required_count(config, "max_position_embeddings", kContextTokensMax));
  // Below FLT_MIN the value would lose its bits, or vanish, in f32.
  ASSIGN_OR_RETURN(const double eps,
                   required_number(config, "rms_norm_eps", FLT_MIN, kRmsNormEpsMax));
  out.rms_norm_eps = static_cast<float>(eps);
  return {};
}

Status read_heads(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(out.query_heads, required_count(config, "num_attention_heads", kHeadsMax));
  ASSIGN_OR_RETURN(const int64_t kv_heads,
                   optional_int(config, "num_key_value_heads", 1, kHeadsMax, out.query_heads));
  if (out.query_heads % kv_heads != 0) {
    return invalid_argument("num_key_value_heads", "must divide num_attention_heads (" +
                                                       std::to_string(out.query_heads) + "), got " +
                                                       std::to_string(kv_heads));
  }
  out.kv_heads = static_cast<int>(kv_heads);
  const bool is_derived = find_field(config, "head_dim") == nullptr;
  if (is_derived && out.hidden_size % out.query_heads != 0) {
    return invalid_argument(
        "head_dim", "is missing, and num_attention_heads (" + std::to_string(out.query_heads) +
                        ") does not divide hidden_size (" + std::to_string(out.hidden_size) + ")");
  }
  Json derived;
  if (is_derived) derived["head_dim"] = out.hidden_size / out.query_heads;
  ASSIGN_OR_RETURN(out.head_dim,
                   required_width(is_derived ? derived : config, "head_dim", kHeadDimMax));
  return {};
}

Status read_switches(const Json& config, const ModelFamily& family, ModelConfig& out) {
  ASSIGN_OR_RETURN(out.activation, read_activation(config, family));
  ASSIGN_OR_RETURN(const bool attention_bias,
                   optional_bool(config, "attention_bias", family.biased_by_default));
  const bool has_own_key = family.attention_bias == BiasRule::kQkvByOwnKey;
  ASSIGN_OR_RETURN(const bool own_bias, optional_bool(config, "qkv_bias", true));
  ASSIGN_OR_RETURN(const bool mlp_bias, optional_bool(config, "mlp_bias", false));
  ASSIGN_OR_RETURN(out.tied_embeddings,
                   optional_bool(config, "tie_word_embeddings", family.tied_by_default));
  out.qk_norm = family.qk_norm;
  if (family.has_qk_norm_key) {
    ASSIGN_OR_RETURN(const bool has_norm, optional_bool(config, "use_qk_norm", false));
    if (!has_norm) out.qk_norm = QkNorm::kNone;
  }
  out.attention_sinks = family.attention_sinks;
  out.input_norms = family.input_norms;
  out.output_norms = family.output_norms;
  out.norms_add_one = family.norms_add_one;
  out.attention_gate = family.attention_gate;
  out.fused_projections = family.fused_projections;
  out.output_bias = family.attention_bias == BiasRule::kByKey && attention_bias;
  out.qkv_bias = family.attention_bias == BiasRule::kQkv || out.output_bias ||
                 (family.attention_bias == BiasRule::kQkvByKey && attention_bias) ||
                 (has_own_key && own_bias);
  out.mlp_bias = family.has_mlp_bias_key && mlp_bias;
  return {};
}

Result<float> read_multiplier(const Json& config, std::string_view key) {
  ASSIGN_OR_RETURN(const double factor,
                   optional_number(config, key, kMultiplierMin, kMultiplierMax, 1));
  return static_cast<float>(factor);
}

// 0 means that there is none.
Result<float> read_soft_cap(const Json& config, std::string_view key) {
  if (find_field(config, key) == nullptr) return 0.0f;
  ASSIGN_OR_RETURN(const double cap, required_number(config, key, kSoftCapMin, kSoftCapMax));
  return static_cast<float>(cap);
}

// Reads the multipliers, divisors and caps that are applied outside the matrices.
Status read_scales(const Json& config, const ModelFamily& family, ModelConfig& out) {
  out.attention_scale = 1.0f / std::sqrt(static_cast<float>(out.head_dim));
  if (family.has_multipliers) {
    ASSIGN_OR_RETURN(out.attention_scale, read_multiplier(config, "attention_multiplier"));
    ASSIGN_OR_RETURN(out.embedding_multiplier, read_multiplier(config, "embedding_multiplier"));
    ASSIGN_OR_RETURN(out.residual_multiplier, read_multiplier(config, "residual_multiplier"));
    ASSIGN_OR_RETURN(const float divisor, read_multiplier(config, "logits_scaling"));
    out.logit_multiplier = 1.0f / divisor;
  }
  if (!family.is_gemma) return {};
  ASSIGN_OR_RETURN(const double query_scalar,
                   optional_number(config, "query_pre_attn_scalar", kMultiplierMin, kMultiplierMax,
                                   kQueryScalarDefault));
  out.attention_scale = family.is_gemma4 ? 1.0f : static_cast<float>(1.0 / std::sqrt(query_scalar));
  out.embedding_multiplier = static_cast<float>(std::sqrt(static_cast<double>(out.hidden_size)));
  out.rounds_embedding_multiplier = !family.is_gemma4;
  if (!family.is_gemma4) {
    ASSIGN_OR_RETURN(out.attention_soft_cap, read_soft_cap(config, "attn_logit_softcapping"));
  }
  ASSIGN_OR_RETURN(out.logit_soft_cap, read_soft_cap(config, "final_logit_softcapping"));
  return {};
}

Status check_rotary_dim(const ModelFamily& family, const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  if (rope.rotary_share != 1 && !family.rotates_in_part) {
    return unsupported("partial_rotary_factor", "must be 1 for model_type " + config.model_type +
                                                    ", got " + Json(rope.rotary_share).dump());
  }
  const int rotated = config.rotary_dim(LayerRope::kMain);
  if (rotated < 2 || rotated % 2 != 0) {
    return invalid_argument("partial_rotary_factor", "must make an even number of dimensions of " +
                                                         std::to_string(config.head_dim) +
                                                         ", at least 2, got " +
                                                         Json(rope.rotary_share).dump());
  }
  const auto pairs = static_cast<size_t>(rotated / 2);
  if (rope.scaling != RopeScaling::kLongRope || rope.divisors.size() == pairs) return {};
  return invalid_argument("long_factor",
                          "and short_factor must have one number for each two "
                          "dimensions that are rotated, " +
                              std::to_string(pairs) + ", got " +
                              std::to_string(rope.divisors.size()));
}

Result<ModelConfig> read_model_config(const Json& file, const ModelFamily* family) {
  ModelConfig out;
  const Json config =
      family->is_gemma4 ? with_gemma4_defaults(file) : with_recurrent_defaults(file, *family);
  out.model_type = family->name;
  RETURN_IF_ERROR(refuse_what_is_not_built(config, *family));
  RETURN_IF_ERROR(read_sizes(config, out));
  RETURN_IF_ERROR(read_heads(config, out));
  RETURN_IF_ERROR(read_switches(config, *family, out));
  RETURN_IF_ERROR(read_scales(config, *family, out));
  RETURN_IF_ERROR(read_layers(config, *family, out));
  RETURN_IF_ERROR(read_recurrent(config, *family, out));
  if (family->is_gemma4) RETURN_IF_ERROR(read_gemma4(config, out));
  RETURN_IF_ERROR(read_mixture(config, *family, out));
  RETURN_IF_ERROR(read_ropes(config, *family, out));
  RETURN_IF_ERROR(check_rotary_dim(*family, out));
  return out;
}

}  // namespace

AttentionShape ModelConfig::attention_shape(int layer) const {
  if (attention_shapes.empty()) return {kv_heads, head_dim, layer};
  return attention_shapes[static_cast<size_t>(layer)];
}

int ModelConfig::last_state_layer() const {
  int layer = layers - 1;
  const auto has_state = [&] {
    return attention_shape(layer).writes_kv || recurrent.is_recurrent(layer);
  };
  while (layer > 0 && !has_state()) --layer;
  return layer;
}

int ModelConfig::kv_heads_max() const {
  if (attention_shapes.empty()) return kv_heads;
  return std::ranges::max(attention_shapes, {}, &AttentionShape::kv_heads).kv_heads;
}

int ModelConfig::head_dim_max() const {
  if (attention_shapes.empty()) return head_dim;
  return std::ranges::max(attention_shapes, {}, &AttentionShape::head_dim).head_dim;
}

int ModelConfig::rotary_dim(LayerRope kind) const {
  int dim = head_dim;
  for (int layer = 0; layer < layers && !attention_shapes.empty(); ++layer) {
    if (layer_rope[static_cast<size_t>(layer)] == kind) dim = attention_shape(layer).head_dim;
  }
  return (kind == LayerRope::kLocal ? local_rope : rope).rotary_dim(dim);
}

int ModelConfig::mlp_size(int layer) const {
  return intermediate_sizes.empty() ? intermediate_size
                                    : intermediate_sizes[static_cast<size_t>(layer)];
}

int ModelConfig::used_intermediate_size(int layer) const {
  if (!mixture.is_mixture(layer)) return mlp_size(layer);
  const int of_experts =
      mixture.chosen * mixture.intermediate_size + mixture.shared_intermediate_size;
  return mixture.beside_mlp ? of_experts + mlp_size(layer) : of_experts;
}

float ModelConfig::query_scale(int64_t position) const {
  if (query_scale_beta == 0 || position < query_scale_context) return 1;
  const double periods = static_cast<double>(position / query_scale_context);
  return static_cast<float>(1 + double{query_scale_beta} * std::log1p(periods));
}

Result<ModelConfig> parse_model_config(const Json& config) {
  const bool in_parts = has_text_part(config);
  const Json text = in_parts ? text_part_config(config) : config;
  Result<const ModelFamily*> family = read_family(text);
  if (!family.ok()) return in_file(std::move(family).error(), kConfigFile);
  Result<ModelConfig> read = read_model_config(text, *family);
  if (!read.ok()) {
    Error error = std::move(read).error();
    error.field = own_key(text, **family, error.field);
    return in_file(std::move(error), kConfigFile);
  }
  read->is_text_part = in_parts;
  read->context_tokens_max = std::min(read->context_tokens_max, kContextServedMax);
  return read;
}

}  // namespace cascade
