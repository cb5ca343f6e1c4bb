// A model's configuration as GGUF metadata.
#include "tests/model/gguf/write_config.h"

#include <algorithm>
#include <vector>

namespace cascade::testing {
namespace {

void write_mixture(const ModelConfig& config, GgufWriter& out) {
  const std::string name = architecture_of(config);
  const MixtureConfig& mixture = config.mixture;
  const auto u32 = [&](const char* key, int value) {
    out.u32(name + "." + key, static_cast<uint32_t>(value));
  };
  u32("expert_count", mixture.experts);
  u32("expert_used_count", mixture.chosen);
  if (name == "granitehybrid") return;
  if (name == "llama" || name == "olmoe") return;
  if (name == "granitemoe") {
    if (mixture.has_shared()) {
      u32("expert_shared_feed_forward_length", mixture.shared_intermediate_size);
    }
    return;
  }
  u32("expert_feed_forward_length", mixture.intermediate_size);
  if (name == "qwen2moe" || name == "qwen3next" || name == "qwen35moe") {
    u32("expert_shared_feed_forward_length", mixture.shared_intermediate_size);
  }
  if (name == "lfm2moe") {
    u32("leading_dense_block_count", static_cast<int>(std::ranges::count(mixture.layers, false)));
    u32("expert_gating_func", 2);
    out.f32(name + ".expert_weights_scale", mixture.scale);
  }
  if (name != "glm4moe") return;
  u32("expert_shared_count", mixture.shared_intermediate_size / mixture.intermediate_size);
  u32("leading_dense_block_count", static_cast<int>(std::ranges::count(mixture.layers, false)));
  u32("expert_group_count", mixture.groups);
  u32("expert_group_used_count", mixture.chosen_groups);
  u32("expert_gating_func", 2);
  u32("nextn_predict_layers", config.draft_layers);
  out.f32(name + ".expert_weights_scale", mixture.scale);
  out.flag(name + ".expert_weights_norm", mixture.normalizes);
}

void write_yarn(const RopeConfig& rope, const std::string& name, GgufWriter& out) {
  const std::string scaling = name + ".rope.scaling.";
  out.text(scaling + "type", "yarn");
  out.f32(scaling + "factor", static_cast<float>(rope.factor));
  out.u32(scaling + "original_context_length", static_cast<uint32_t>(rope.original_context));
  out.f32(scaling + "yarn_beta_fast", static_cast<float>(rope.beta_fast));
  out.f32(scaling + "yarn_beta_slow", static_cast<float>(rope.beta_slow));
}

void write_multipliers(const ModelConfig& config, GgufWriter& out) {
  const std::string name = architecture_of(config) + ".";
  out.f32(name + "attention.scale", config.attention_scale);
  out.f32(name + "embedding_scale", config.embedding_multiplier);
  out.f32(name + "residual_scale", config.residual_multiplier);
  out.f32(name + "logit_scale", 1 / config.logit_multiplier);
}

// Which layers of a hybrid are recurrent, and their sizes.
void write_hybrid(const ModelConfig& config, GgufWriter& out) {
  const std::string name = architecture_of(config) + ".";
  const RecurrentConfig& recurrent = config.recurrent;
  const auto u32 = [&](const char* key, int value) {
    out.u32(name + key, static_cast<uint32_t>(value));
  };
  if (recurrent.kind == Recurrence::kDeltaNet) {
    const auto attending = std::ranges::find(recurrent.layers, false) - recurrent.layers.begin();
    u32("full_attention_interval", static_cast<int>(attending) + 1);
    u32("attention.head_count_kv", config.kv_heads);
  } else {
    std::vector<int32_t> heads;
    for (const AttentionShape& shape : config.attention_shapes) heads.push_back(shape.kv_heads);
    out.numbers(name + "attention.head_count_kv", GgufValueType::kI32, heads);
  }
  if (recurrent.kind == Recurrence::kConvolution) {
    u32("shortconv.l_cache", recurrent.taps);
    return;
  }
  u32("ssm.conv_kernel", recurrent.taps);
  u32("ssm.state_size", recurrent.key_dim);
  u32("ssm.group_count", recurrent.key_heads);
  u32("ssm.time_step_rank", recurrent.value_heads);
  u32("ssm.inner_size", recurrent.value_channels());
  if (recurrent.kind == Recurrence::kDeltaNet) {
    out.numbers(name + "rope.dimension_sections", GgufValueType::kI32,
                std::vector<int32_t>{11, 11, 10, 0});
    return;
  }
  const bool is_dense = config.mixture.experts == 0;
  u32("expert_shared_feed_forward_length",
      is_dense ? config.intermediate_size : config.mixture.shared_intermediate_size);
  out.flag(name + "rope.scaling.finetuned",
           std::ranges::count(config.layer_rope, LayerRope::kMain) > 0);
}

// The keys in which layers differ; a number stands for all layers.
void write_gemma4(const ModelConfig& config, GgufWriter& out) {
  const auto u32 = [&](const char* key, int value) {
    out.u32(std::string("gemma4.") + key, static_cast<uint32_t>(value));
  };
  std::vector<int32_t> kv_heads, widths;
  std::vector<uint8_t> slides;
  int shared = 0;
  for (int layer = 0; layer < config.layers; ++layer) {
    const AttentionShape shape = config.attention_shape(layer);
    const bool is_sliding = config.window[static_cast<size_t>(layer)] > 0;
    kv_heads.push_back(shape.kv_heads);
    widths.push_back(config.mlp_size(layer));
    slides.push_back(is_sliding ? 1 : 0);
    shared += shape.writes_kv ? 0 : 1;
  }
  for (const bool is_sliding : {false, true}) {
    const auto at = std::ranges::find(slides, is_sliding ? 1 : 0) - slides.begin();
    const int dim = config.attention_shape(static_cast<int>(at)).head_dim;
    for (const char* key :
         {"attention.key_length", "attention.value_length", "rope.dimension_count"}) {
      u32((key + std::string(is_sliding ? "_swa" : "")).c_str(), dim);
    }
  }
  out.numbers("gemma4.attention.head_count_kv", GgufValueType::kI32, kv_heads);
  out.numbers("gemma4.feed_forward_length", GgufValueType::kI32, widths);
  out.numbers("gemma4.attention.sliding_window_pattern", GgufValueType::kBool, slides);
  u32("attention.sliding_window", std::ranges::max(config.window));
  u32("attention.shared_kv_layers", shared);
  u32("embedding_length_per_layer_input", config.layer_input_size);
  out.f32("gemma4.rope.freq_base", static_cast<float>(config.rope.theta));
  out.f32("gemma4.rope.freq_base_swa", static_cast<float>(config.local_rope.theta));
  if (config.logit_soft_cap > 0) out.f32("gemma4.final_logit_softcapping", config.logit_soft_cap);
}

}  // namespace

std::string architecture_of(const ModelConfig& config) {
  if (config.model_type == "mistral" || config.model_type == "mixtral") return "llama";
  if (config.model_type == "gemma4_text") return "gemma4";
  if (config.model_type == "glm4_moe") return "glm4moe";
  if (config.model_type == "gpt_oss") return "gpt-oss";
  if (config.model_type == "granitemoehybrid") return "granitehybrid";
  if (config.model_type == "granitemoeshared") return "granitemoe";
  if (config.model_type == "lfm2_moe") return "lfm2moe";
  if (config.model_type == "ministral3") return "mistral3";
  if (config.model_type == "olmo3") return "olmo2";
  if (config.model_type == "qwen2_moe") return "qwen2moe";
  if (config.model_type == "qwen3_5_moe_text") return "qwen35moe";
  if (config.model_type == "qwen3_5_text") return "qwen35";
  if (config.model_type == "qwen3_moe") return "qwen3moe";
  if (config.model_type == "qwen3_next") return "qwen3next";
  return config.model_type;
}

void write_config(const ModelConfig& config, GgufWriter& out) {
  const std::string name = architecture_of(config);
  out.text("general.architecture", name).text("general.name", "converted");
  const auto u32 = [&](const char* key, int value) {
    out.u32(name + "." + key, static_cast<uint32_t>(value));
  };
  u32("block_count", config.layers + config.draft_layers);
  u32("context_length", config.context_tokens_max);
  u32("embedding_length", config.hidden_size);
  u32("attention.head_count", config.query_heads);
  out.f32(name + ".attention.layer_norm_rms_epsilon", config.rms_norm_eps);
  if (config.mixture.experts > 0) write_mixture(config, out);
  if (name == "gemma4") return write_gemma4(config, out);
  // In a hybrid Granite without experts, the shared expert's width is what counts.
  const bool has_other = name == "granitehybrid" && config.mixture.experts == 0;
  u32("feed_forward_length", config.intermediate_size + (has_other ? 8 : 0));
  if (config.recurrent.layers.empty()) {
    u32("attention.head_count_kv", config.kv_heads);
  } else {
    write_hybrid(config, out);
  }
  u32("attention.key_length", config.head_dim);
  u32("attention.value_length", config.head_dim);
  u32("rope.dimension_count", config.rope.rotary_dim(config.head_dim));
  if (config.window.front() > 0) u32("attention.sliding_window", config.window.front());
  out.f32(name + ".rope.freq_base", static_cast<float>(config.rope.theta));
  if (config.rope.scaling == RopeScaling::kYarn) write_yarn(config.rope, name, out);
  if (name == "granitemoe" || name == "granitehybrid") write_multipliers(config, out);
  if (name != "mistral3") return;
  out.f32(name + ".attention.temperature_scale", config.query_scale_beta);
  out.f32(name + ".rope.scaling.yarn_log_multiplier", 1);
}

}  // namespace cascade::testing
