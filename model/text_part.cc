// Names of parts follow transformers' Gemma3ForConditionalGeneration,
// Gemma4ForConditionalGeneration, Gemma4UnifiedForConditionalGeneration,
// Mistral3ForConditionalGeneration and Qwen3_5ForConditionalGeneration.
#include "model/text_part.h"

#include <algorithm>
#include <array>

#include "model/json_fields.h"

namespace cascade {
namespace {

constexpr std::string_view kText = "text_config";
constexpr std::array<std::string_view, 6> kWholeModels = {"gemma3",   "gemma4",  "gemma4_unified",
                                                          "mistral3", "qwen3_5", "qwen3_5_moe"};

// Beginnings of names, and what stands for them in a text model; "" for parts that are left out.
struct Prefix {
  std::string_view whole;
  std::string_view text;
};
constexpr std::array<Prefix, 13> kPrefixes = {{
    {"language_model.model.", "model."},
    {"language_model.lm_head.", "lm_head."},
    {"model.language_model.", "model."},
    {"lm_head.", "lm_head."},
    {"vision_tower.", ""},
    {"multi_modal_projector.", ""},
    {"model.vision_tower.", ""},
    {"model.multi_modal_projector.", ""},
    {"model.vision_embedder.", ""},
    {"model.embed_vision.", ""},
    {"model.audio_tower.", ""},
    {"model.embed_audio.", ""},
    {"model.visual.", ""},
}};

// Gemma3TextConfig of transformers: published checkpoints say only what differs from it.
const Json& gemma_defaults() {
  static const Json defaults = {
      {"model_type", "gemma3_text"}, {"vocab_size", 262'208}, {"num_attention_heads", 8},
      {"num_key_value_heads", 4},    {"head_dim", 256},       {"max_position_embeddings", 131'072},
      {"rms_norm_eps", 1e-6}};
  return defaults;
}
constexpr double kGemmaTheta = 1'000'000;

// Gemma4TextConfig; model/config_gemma4.cc has the rest.
const Json& gemma4_defaults() {
  static const Json defaults = {{"model_type", "gemma4_text"},
                                {"vocab_size", 262'144},
                                {"hidden_size", 2304},
                                {"intermediate_size", 9216},
                                {"num_hidden_layers", 30},
                                {"num_attention_heads", 8},
                                {"num_key_value_heads", 4},
                                {"head_dim", 256},
                                {"max_position_embeddings", 131'072},
                                {"rms_norm_eps", 1e-6}};
  return defaults;
}

}  // namespace

bool has_text_part(const Json& config) {
  if (!config.is_object()) return false;
  const Json* type = find_field(config, "model_type");
  const Json* text = find_field(config, kText);
  if (type == nullptr || !type->is_string() || text == nullptr || !text->is_object()) return false;
  return std::ranges::count(kWholeModels, type->get_ref<const std::string&>()) != 0;
}

Json text_part_config(const Json& config) {
  Json text = *find_field(config, kText);
  const auto add = [&text](std::string_view key, const Json& value) {
    if (find_field(text, key) == nullptr) text[std::string(key)] = value;
  };
  for (const char* key : {"bos_token_id", "eos_token_id", "tie_word_embeddings"}) {
    if (const Json* value = find_field(config, key)) add(key, *value);
  }
  const Json& type = *find_field(config, "model_type");
  // The type of the whole model tells that of its text part, as in transformers.
  if (type == "qwen3_5" || type == "qwen3_5_moe")
    add("model_type", type.get<std::string>() + "_text");
  if (type == "gemma4_unified") {
    // The text model is a Gemma 4 without inputs of single layers; its defaults are
    // Gemma4UnifiedTextConfig's.
    text["model_type"] = "gemma4_text";
    text["hidden_size_per_layer_input"] = 0;
    add("sliding_window", 1024);
    add("max_position_embeddings", 262'144);
  }
  if (type == "gemma4" || type == "gemma4_unified") {
    for (const auto& [key, value] : gemma4_defaults().items()) add(key, value);
  }
  if (type != "gemma3") return text;
  for (const auto& [key, value] : gemma_defaults().items()) add(key, value);
  if (find_field(text, "rope_parameters") == nullptr) add("rope_theta", kGemmaTheta);
  return text;
}

std::optional<std::string> text_part_tensor(std::string_view name) {
  const auto found = std::ranges::find_if(
      kPrefixes, [name](const Prefix& prefix) { return name.starts_with(prefix.whole); });
  if (found == kPrefixes.end()) return std::string(name);
  if (found->text.empty()) return std::nullopt;
  return std::string(found->text) + std::string(name.substr(found->whole.size()));
}

}  // namespace cascade
