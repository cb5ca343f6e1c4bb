// The table of families, and the names of the models that are refused.
#include "model/config_family.h"

#include <algorithm>
#include <array>
#include <string>

#include "model/json_fields.h"

namespace cascade {
namespace {

// The window that transformers' configuration classes assume if a file leaves sliding_window out.
constexpr int kWindowDefault = 4096;

constexpr ModelFamily qwen_hybrid(std::string_view name, MixtureRule mixture) {
  return {.name = name,
          .attention_bias = BiasRule::kByKey,
          .qk_norm = QkNorm::kHead,
          .rotates_in_part = true,
          .rotary_share = 0.25,
          .norms_add_one = true,
          .attention_gate = true,
          .mixture = mixture,
          .recurrence = RecurrenceRule::kQwen};
}

constexpr std::array<ModelFamily, 26> kFamilies = {{
    {.name = "gemma3_text",
     .attention_bias = BiasRule::kByKey,
     .windows = WindowRule::kPattern,
     .window_default = kWindowDefault,
     .window_pattern = 6,
     .window_rope = WindowRope::kOwnBase,
     .qk_norm = QkNorm::kHead,
     .output_norms = true,
     .tied_by_default = true,
     .norms_add_one = true,
     .is_gemma = true},
    {.name = "gemma4_text",
     .attention_bias = BiasRule::kByKey,
     .windows = WindowRule::kPattern,
     .window_default = 512,
     .window_pattern = 6,
     .window_rope = WindowRope::kOwnBase,
     .qk_norm = QkNorm::kHead,
     .output_norms = true,
     .tied_by_default = true,
     .mixture = MixtureRule::kGemma4,
     .is_gemma = true,
     .is_gemma4 = true},
    {.name = "glm4_moe",
     .attention_bias = BiasRule::kQkvByKey,
     .qk_norm = QkNorm::kHead,
     .rotates_in_part = true,
     .rotary_share = 0.5,
     .has_qk_norm_key = true,
     .mixture = MixtureRule::kGlm},
    {.name = "gpt_oss",
     .attention_bias = BiasRule::kByKey,
     .biased_by_default = true,
     .windows = WindowRule::kAlternating,
     .window_default = 128,
     .attention_sinks = true,
     .clamped_swiglu = true,
     .mixture = MixtureRule::kGptOss},
    {.name = "granite",
     .attention_bias = BiasRule::kByKey,
     .has_mlp_bias_key = true,
     .has_multipliers = true},
    {.name = "granitemoe",
     .attention_bias = BiasRule::kByKey,
     .has_multipliers = true,
     .mixture = MixtureRule::kGranite},
    {.name = "granitemoehybrid",
     .attention_bias = BiasRule::kByKey,
     .has_multipliers = true,
     .mixture = MixtureRule::kGranite4,
     .recurrence = RecurrenceRule::kGranite4},
    {.name = "granitemoeshared",
     .attention_bias = BiasRule::kByKey,
     .has_multipliers = true,
     .mixture = MixtureRule::kGraniteShared},
    {.name = "lfm2",
     .qk_norm = QkNorm::kHead,
     .tied_by_default = true,
     .recurrence = RecurrenceRule::kLfm2},
    {.name = "lfm2_moe",
     .qk_norm = QkNorm::kHead,
     .tied_by_default = true,
     .mixture = MixtureRule::kLfm2,
     .recurrence = RecurrenceRule::kLfm2},
    {.name = "llama", .attention_bias = BiasRule::kByKey, .has_mlp_bias_key = true},
    {.name = "ministral3", .windows = WindowRule::kAllLayers, .has_query_scale = true},
    {.name = "mistral", .windows = WindowRule::kAllLayers, .window_default = kWindowDefault},
    {.name = "mixtral", .windows = WindowRule::kAllLayers, .mixture = MixtureRule::kMixtral},
    {.name = "olmo2",
     .attention_bias = BiasRule::kByKey,
     .qk_norm = QkNorm::kWhole,
     .input_norms = false,
     .output_norms = true},
    {.name = "olmo3",
     .attention_bias = BiasRule::kByKey,
     .windows = WindowRule::kPattern,
     .window_default = kWindowDefault,
     .window_pattern = 4,
     .window_rope = WindowRope::kUnscaled,
     .qk_norm = QkNorm::kWhole,
     .input_norms = false,
     .output_norms = true},
    {.name = "olmoe",
     .attention_bias = BiasRule::kByKey,
     .qk_norm = QkNorm::kWhole,
     .mixture = MixtureRule::kOlmoe},
    {.name = "phi3",
     .windows = WindowRule::kAllLayers,
     .fused_projections = true,
     .rotates_in_part = true},
    {.name = "qwen2",
     .attention_bias = BiasRule::kQkv,
     .windows = WindowRule::kLaterLayers,
     .window_default = kWindowDefault},
    {.name = "qwen2_moe",
     .attention_bias = BiasRule::kQkvByOwnKey,
     .windows = WindowRule::kEvenEarlier,
     .window_default = kWindowDefault,
     .mixture = MixtureRule::kQwen2},
    {.name = "qwen3",
     .attention_bias = BiasRule::kByKey,
     .windows = WindowRule::kLaterLayers,
     .window_default = kWindowDefault,
     .qk_norm = QkNorm::kHead},
    qwen_hybrid("qwen3_5_moe_text", MixtureRule::kQwen35),
    qwen_hybrid("qwen3_5_text", MixtureRule::kNone),
    {.name = "qwen3_moe",
     .attention_bias = BiasRule::kByKey,
     .windows = WindowRule::kIfUsed,
     .window_default = kWindowDefault,
     .qk_norm = QkNorm::kHead,
     .mixture = MixtureRule::kQwen},
    qwen_hybrid("qwen3_next", MixtureRule::kQwenNext),
    {.name = "smollm3",
     .attention_bias = BiasRule::kByKey,
     .has_mlp_bias_key = true,
     .windows = WindowRule::kNopeLayers,
     .tied_by_default = true,
     .has_nope_layers = true},
}};

// These have recurrent layers that are not built.
constexpr auto kRecurrent = std::to_array<std::string_view>(
    {"arwkv7",      "bamba",           "falcon-h1", "falcon_h1", "falcon_mamba", "jamba",
     "kimi-linear", "kimi_linear",     "mamba",     "mamba2",    "nemotron_h",   "nemotron_h_moe",
     "plamo2",      "recurrent_gemma", "rwkv",      "rwkv5",     "rwkv6",        "rwkv6qwen2",
     "rwkv7",       "zamba",           "zamba2",    "minimax"});
constexpr auto kExperts = std::to_array<std::string_view>(
    {"dbrx", "deepseek2", "deepseek_v2", "deepseek_v3", "ernie4_5_moe", "llama4", "llama4_text",
     "phimoe", "minimax_m2", "jetmoe", "hunyuan_v1_moe"});
constexpr auto kMultimodal = std::to_array<std::string_view>(
    {"gemma3",  "gemma3n",     "gemma4",       "gemma4_unified", "idefics3",  "internvl",
     "llava",   "llava_next",  "mistral3",     "mllama",         "paligemma", "phi4_multimodal",
     "phi4mm",  "pixtral",     "qwen2_5_omni", "qwen2_5_vl",     "qwen2_vl",  "qwen2vl",
     "qwen3_5", "qwen3_5_moe", "qwen3_vl",     "qwen3vl",        "smolvlm"});

std::string supported_names() {
  std::string names;
  for (const ModelFamily& family : kFamilies) {
    if (!names.empty()) names += ", ";
    names += family.name;
  }
  return names;
}

}  // namespace

std::string_view unsupported_kind(std::string_view name) {
  if (std::ranges::count(kRecurrent, name) != 0) return "recurrent or a hybrid";
  if (std::ranges::count(kExperts, name) != 0) return "a mixture of experts";
  if (std::ranges::count(kMultimodal, name) != 0) return "a multimodal model";
  return "";
}

Result<const ModelFamily*> model_family(std::string_view model_type, std::string_view field) {
  const auto* found = std::ranges::find(kFamilies, model_type, &ModelFamily::name);
  if (found != kFamilies.end()) return found;
  const std::string kind(unsupported_kind(model_type));
  return unsupported(std::string(field),
                     quote_text(model_type) + " is " + (kind.empty() ? "" : kind + ", which is ") +
                         "not supported (supported: " + supported_names() + ")");
}

}  // namespace cascade
