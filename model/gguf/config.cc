// Turns metadata into the keys that config.json has for the same things, and turns those keys into
// the configuration, so that one place has the limits.
#include "model/gguf/config.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <set>

#include "model/config_family.h"
#include "model/gguf/config_gemma4.h"
#include "model/gguf/config_keys.h"
#include "model/gguf/config_mixture.h"
#include "model/gguf/config_recurrent.h"
#include "model/gguf/frequency_factors.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

// A name of general.architecture, and the model_type of its configuration.
struct Architecture {
  std::string_view name;
  std::string_view model_type;
};
constexpr std::array<Architecture, 22> kArchitectures = {{
    {"gemma3", "gemma3_text"},
    {"gemma4", "gemma4_text"},
    {"glm4moe", "glm4_moe"},
    {"gpt-oss", "gpt_oss"},
    {"granite", "granite"},
    {"granitehybrid", "granitemoehybrid"},
    {"granitemoe", "granitemoe"},
    {"lfm2", "lfm2"},
    {"lfm2moe", "lfm2_moe"},
    {"llama", "llama"},
    {"mistral3", "ministral3"},
    {"olmo2", "olmo2"},
    {"olmoe", "olmoe"},
    {"phi3", "phi3"},
    {"qwen2", "qwen2"},
    {"qwen2moe", "qwen2_moe"},
    {"qwen3", "qwen3"},
    {"qwen35", "qwen3_5_text"},
    {"qwen35moe", "qwen3_5_moe_text"},
    {"qwen3moe", "qwen3_moe"},
    {"qwen3next", "qwen3_next"},
    {"smollm3", "smollm3"},
}};

// A key after "ARCHITECTURE." that asks for a computation. The architecture `architecture` does it
// (empty: none does; "granite" stands for granitemoe and granitehybrid, too), and `config` is the
// key's name in a configuration; architectures without an entry for the key refuse it.
struct Computed {
  std::string_view gguf;
  std::string_view config = {};
  std::string_view architecture = {};
};
constexpr std::array<Computed, 13> kComputed = {{
    {"attention.scale", "attention_multiplier", "granite"},
    {"embedding_scale", "embedding_multiplier", "granite"},
    {"residual_scale", "residual_multiplier", "granite"},
    {"logit_scale", "logits_scaling", "granite"},
    {"attn_logit_softcapping", "attn_logit_softcapping", "gemma3"},
    {"final_logit_softcapping", "final_logit_softcapping", "gemma3"},
    {"final_logit_softcapping", "final_logit_softcapping", "gemma4"},
    {"attention.max_alibi_bias"},
    {"attention.clamp_kqv"},
    {"attention.temperature_scale", "llama_4_scaling_beta", "mistral3"},
    {"rope.scaling.yarn_ext_factor"},
    {"rope.scaling.yarn_attn_factor"},
    {"rope.scaling.yarn_log_multiplier", "mscale_all_dim", "mistral3"},
}};

// Readers recognise the largest Gemma 3 by this number of layers. That model divides its queries by
// the square root of hidden_size / heads; files do not state this.
constexpr int64_t kGemmaLargestLayers = 62;

// The RoPE base if the file leaves it out, as files of the first generation of architecture llama
// do, and those of granitehybrid may.
constexpr double kDefaultTheta = 10'000;

constexpr std::string_view kLongFactors = "rope_factors_long.weight";
constexpr std::string_view kShortFactors = "rope_factors_short.weight";

// Any number that a JSON number may be; parse_model_config has the limits.
constexpr int64_t kAny = INT64_MAX;

// Turns an error about a key of config.json into one about the metadata.
Error in_terms_of_metadata(Error error, std::string_view architecture) {
  constexpr std::string_view kFile = " (in config.json)";
  if (error.message.ends_with(kFile)) error.message.resize(error.message.size() - kFile.size());
  // Which key the number of an expert's channels comes from (model/gguf/config_mixture.h).
  const bool is_of_expert = architecture == "gpt-oss" && error.field == "intermediate_size";
  if (is_of_expert) error.field = "moe_intermediate_size";
  if (error.field == "long_factor") error.field = kLongFactors;
  if (error.field == "short_factor") error.field = kShortFactors;
  std::string_view name = gguf_config_key(error.field);
  const auto* computed = std::ranges::find(kComputed, error.field, &Computed::config);
  if (name.empty() && computed != kComputed.end()) name = computed->gguf;
  if (!name.empty()) error.field = std::string(architecture) + "." + std::string(name);
  return error;
}

class ConfigReader {
 public:
  ConfigReader(const GgufFiles& files, const Architecture& architecture)
      : files_(files), metadata_(files.metadata()), architecture_(architecture.name) {
    config_["model_type"] = std::string(architecture.model_type);
  }

  Result<ModelConfig> run() {
    RETURN_IF_ERROR(refuse_what_is_not_built());
    RETURN_IF_ERROR(read_scales());
    config_["hidden_act"] = "silu";  // gemma3 has another key, and its own default
    for (const char* key :
         {"num_hidden_layers", "hidden_size", "max_position_embeddings", "num_attention_heads"}) {
      RETURN_IF_ERROR(copy_whole(key, true));
    }
    const bool is_hybrid = is_gguf_hybrid(architecture_);
    if (!is_gemma4() && !is_hybrid) RETURN_IF_ERROR(read_layer_sizes());
    ASSIGN_OR_RETURN(const std::optional<double> epsilon, metadata_.number(key_of("rms_norm_eps")));
    if (epsilon) config_["rms_norm_eps"] = *epsilon;
    RETURN_IF_ERROR(read_tensors());
    if (is_hybrid) RETURN_IF_ERROR(read_gguf_hybrid(files_, architecture_, config_));
    RETURN_IF_ERROR(read_gguf_mixture(files_, architecture_, config_));
    if (is_gemma4()) {
      RETURN_IF_ERROR(read_gguf_gemma4(files_, config_));
      return parse();
    }
    RETURN_IF_ERROR(architecture_ == "gemma3" ? read_gemma() : read_window());
    RETURN_IF_ERROR(read_rotary_part());
    RETURN_IF_ERROR(read_rope());
    Result<ModelConfig> config = parse();
    if (!config.ok()) return config;
    RETURN_IF_ERROR(check_head_sizes(*config));
    config->norms_add_one = false;  // files hold 1 + weight
    if (is_granite()) RETURN_IF_ERROR(read_granite(*config));
    if (is_hybrid) set_gguf_hybrid(architecture_, *config);
    RETURN_IF_ERROR(read_frequency_factors(files_, architecture_ == "llama", *config));
    return config;
  }

 private:
  std::string key(std::string_view name) const { return architecture_ + "." + std::string(name); }
  std::string key_of(std::string_view config_key) const { return key(gguf_config_key(config_key)); }

  // Its layers differ (model/gguf/config_gemma4.h).
  bool is_gemma4() const { return architecture_ == "gemma4"; }

  bool is_granite() const { return architecture_.starts_with("granite"); }

  // As in llama.cpp, a file whose rope.scaling.finetuned is false does not rotate; without the key
  // it does.
  Status read_granite(ModelConfig& config) const {
    if (!config_.contains("attention_multiplier")) {
      config.attention_scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim));
    }
    ASSIGN_OR_RETURN(const bool rotates, metadata_.flag_or(key("rope.scaling.finetuned"), true));
    if (!rotates) config.layer_rope.assign(config.layer_rope.size(), LayerRope::kNone);
    return {};
  }

  bool is_computed(const Computed& computed) const {
    return computed.architecture == (is_granite() ? "granite" : architecture_);
  }
  bool computes(std::string_view gguf_name) const {
    return std::ranges::any_of(kComputed, [&](const Computed& computed) {
      return computed.gguf == gguf_name && is_computed(computed);
    });
  }

  Status refuse_what_is_not_built() const {
    for (const Computed& computed : kComputed) {
      if (metadata_.contains(key(computed.gguf)) && !computes(computed.gguf)) {
        return unsupported(key(computed.gguf), "is not supported");
      }
    }
    ASSIGN_OR_RETURN(const bool causal, metadata_.flag_or(key("attention.causal"), true));
    if (!causal) return unsupported(key("attention.causal"), "must be true");
    return {};
  }

  Status copy_number(std::string_view gguf_name, std::string_view config_key) {
    ASSIGN_OR_RETURN(const auto value, metadata_.number(key(gguf_name)));
    if (value) config_[std::string(config_key)] = *value;
    return {};
  }

  Status read_scales() {
    for (const Computed& computed : kComputed) {
      if (!is_computed(computed)) continue;
      RETURN_IF_ERROR(copy_number(computed.gguf, computed.config));
    }
    return {};
  }

  Status copy_whole(const char* config_key, bool required) {
    ASSIGN_OR_RETURN(const auto value, metadata_.whole(key_of(config_key), INT64_MIN, kAny));
    if (value) {
      config_[config_key] = *value;
    } else if (required) {
      return not_found(key_of(config_key), "is missing");
    }
    return {};
  }

  // Reads the sizes that all layers have.
  Status read_layer_sizes() {
    // In gpt-oss the size of the experts is the only one.
    RETURN_IF_ERROR(copy_whole("intermediate_size", architecture_ != "gpt-oss"));
    const char* const kv_heads = "num_key_value_heads";
    ASSIGN_OR_RETURN(const auto heads,
                     metadata_.whole_of_layers(key_of(kv_heads), INT64_MIN, kAny));
    if (heads) config_[kv_heads] = *heads;
    return copy_whole("head_dim", false);
  }

  // Reads what the shapes and names of tensors say.
  Status read_tensors() {
    const GgufTensor* embedding = files_.find("token_embd.weight").tensor;
    if (embedding == nullptr) return not_found("token_embd.weight", "is missing");
    if (embedding->dimensions.size() != 2) {
      return invalid_argument(embedding->name, "must have two dimensions");
    }
    config_["vocab_size"] = embedding->dimensions[1];
    config_["tie_word_embeddings"] = files_.find("output.weight").tensor == nullptr;
    config_["attention_bias"] = files_.find("blk.0.attn_output.bias").tensor != nullptr;
    config_["qkv_bias"] = files_.find("blk.0.attn_q.bias").tensor != nullptr;
    config_["mlp_bias"] = files_.find("blk.0.ffn_up.bias").tensor != nullptr;
    return {};
  }

  Status read_window() {
    const std::string name = key_of("sliding_window");
    if (architecture_ == "gpt-oss") return read_alternating_window();
    if (architecture_ == "olmo2") return read_olmo_window();
    ASSIGN_OR_RETURN(const auto window, metadata_.whole(name, 0, kAny));
    const auto context = config_["max_position_embeddings"].get<int64_t>();
    const bool is_felt = window.value_or(0) > 0 && *window < context;
    if (!is_felt) return {};
    // In Phi 3 and the first Mistral, all layers have the window.
    if (architecture_ != "llama" && architecture_ != "phi3") {
      return unsupported(name, "is not supported in architecture " + architecture_);
    }
    if (config_["model_type"] == "llama") config_["model_type"] = "mistral";
    config_["sliding_window"] = *window;
    return {};
  }

  // Every second layer has the window, whether the file says so or not.
  Status read_alternating_window() {
    const std::string pattern = key_of("sliding_window_pattern");
    ASSIGN_OR_RETURN(const auto period, metadata_.whole(pattern, 0, kAny));
    if (period.value_or(2) != 2) {
      return unsupported(pattern, "must be 2 in architecture " + architecture_);
    }
    return copy_whole("sliding_window", true);
  }

  // A window makes the model an OLMo 3. A list, which converters write, says which layers have it.
  Status read_olmo_window() {
    ASSIGN_OR_RETURN(const auto window, metadata_.whole(key_of("sliding_window"), 0, kAny));
    if (window.value_or(0) == 0) return {};
    config_["sliding_window"] = *window;
    config_["model_type"] = "olmo3";
    const std::string pattern = key_of("sliding_window_pattern");
    const GgufValue* value = metadata_.find(pattern);
    if (value == nullptr) return {};
    if (!std::holds_alternative<GgufArray>(*value)) {
      return copy_whole("sliding_window_pattern", false);
    }
    ASSIGN_OR_RETURN(const std::vector<bool> slides, metadata_.flags(pattern));
    Json types = Json::array();
    for (const bool slide : slides) types.push_back(slide ? "sliding_attention" : "full_attention");
    config_["layer_types"] = std::move(types);
    return {};
  }

  // Reads the window, the pattern of the layers that have it, and the RoPE base that only these
  // layers use. If the file has no window, no layer of the model has one.
  Status read_gemma() {
    RETURN_IF_ERROR(copy_whole("sliding_window", false));
    RETURN_IF_ERROR(copy_whole("sliding_window_pattern", false));
    if (!config_.contains("sliding_window")) config_["sliding_window_pattern"] = 1;
    RETURN_IF_ERROR(copy_number("rope.freq_base_swa", "rope_local_base_freq"));
    const auto layers = config_["num_hidden_layers"].get<int64_t>();
    if (layers != kGemmaLargestLayers) {
      ASSIGN_OR_RETURN(const int64_t size, head_size());
      config_["query_pre_attn_scalar"] = size;
    } else {
      ASSIGN_OR_RETURN(config_["query_pre_attn_scalar"], hidden_share());
    }
    return {};
  }

  // hidden_size / heads.
  Result<int64_t> hidden_share() const {
    const auto hidden = config_["hidden_size"].get<int64_t>();
    const auto heads = config_["num_attention_heads"].get<int64_t>();
    if (heads > 0) return hidden / heads;
    return invalid_argument(key_of("num_attention_heads"),
                            "must be at least 1, got " + std::to_string(heads));
  }
  Result<int64_t> head_size() const {
    if (config_.contains("head_dim")) return config_["head_dim"].get<int64_t>();
    return hidden_share();
  }

  Status read_rotary_part() {
    const bool in_part = architecture_ == "phi3" || architecture_ == "glm4moe" ||
                         architecture_ == "qwen3next" || architecture_.starts_with("qwen35");
    if (!in_part) return {};  // check_head_sizes() says that all is rotated
    ASSIGN_OR_RETURN(const auto rotated, metadata_.whole(key("rope.dimension_count"), 0, kAny));
    ASSIGN_OR_RETURN(const int64_t size, head_size());
    if (size < 1) return {};
    config_["partial_rotary_factor"] =
        static_cast<double>(rotated.value_or(size)) / static_cast<double>(size);
    return {};
  }

  Status read_rope() {
    ASSIGN_OR_RETURN(std::optional<double> theta, metadata_.number(key_of("rope_theta")));
    const bool may_lack = architecture_ == "llama" || architecture_ == "granitehybrid";
    if (!theta && may_lack) theta = kDefaultTheta;
    if (!theta) return not_found(key_of("rope_theta"), "is missing");
    config_["rope_theta"] = *theta;
    if (files_.find(kLongFactors).tensor != nullptr) return read_longrope();
    const std::string type_key = key_of("rope_type");
    ASSIGN_OR_RETURN(const auto type, metadata_.text(type_key));
    ASSIGN_OR_RETURN(const auto old_factor, metadata_.number(key("rope.scale_linear")));
    if (!type || *type == "none") {
      if (old_factor.value_or(1) == 1) return {};
      config_["rope_scaling"] = {{"rope_type", "linear"}, {"factor", *old_factor}};
      return {};
    }
    if (*type != "linear" && *type != "yarn") {
      return unsupported(type_key, quote_text(*type) +
                                       " is not supported (supported: none, "
                                       "linear, yarn, and longrope with its two tensors)");
    }
    Json scaling = {{"rope_type", *type}};
    ASSIGN_OR_RETURN(const auto attention, metadata_.number(key("rope.scaling.attn_factor")));
    if (attention.value_or(1) != 1 && architecture_ != "olmo2") {
      return unsupported(key("rope.scaling.attn_factor"), "must be 1");
    }
    if (attention && architecture_ == "olmo2") scaling["attention_factor"] = *attention;
    ASSIGN_OR_RETURN(const auto factor, metadata_.number(key_of("factor")));
    if (factor) scaling["factor"] = *factor;
    constexpr const char* kBeta = "llama_4_scaling_beta";
    if (config_.contains(kBeta)) scaling[kBeta] = config_[kBeta];
    if (*type == "yarn") RETURN_IF_ERROR(read_yarn(scaling));
    config_["rope_scaling"] = std::move(scaling);
    return {};
  }

  // Many files do not name the type longrope: the two tensors of that type show it.
  Status read_longrope() {
    ASSIGN_OR_RETURN(const std::vector<float> longer, factors(kLongFactors));
    ASSIGN_OR_RETURN(const std::vector<float> shorter, factors(kShortFactors));
    Json scaling = {{"rope_type", "longrope"}, {"long_factor", longer}, {"short_factor", shorter}};
    const std::string_view context = "original_max_position_embeddings";
    ASSIGN_OR_RETURN(scaling[std::string(context)],
                     metadata_.required_whole(key_of(context), 1, kAny));
    ASSIGN_OR_RETURN(const auto attention, metadata_.number(key_of("attention_factor")));
    scaling["attention_factor"] = attention.value_or(1);
    config_["rope_scaling"] = std::move(scaling);
    return {};
  }

  Result<std::vector<float>> factors(std::string_view name) const {
    const auto [tensor, bytes] = files_.find(name);
    if (tensor == nullptr) return not_found(std::string(name), "is missing");
    if (tensor->type != TensorType::kF32) {
      return invalid_argument(std::string(name), "must be of type F32");
    }
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return values;
  }

  Status read_yarn(Json& scaling) const {
    const std::string_view context = "original_max_position_embeddings";
    ASSIGN_OR_RETURN(const auto original, metadata_.whole(key_of(context), 1, kAny));
    if (original) scaling[std::string(context)] = *original;
    for (const auto& [name, config_key] : {std::pair("rope.scaling.yarn_beta_fast", "beta_fast"),
                                           std::pair("rope.scaling.yarn_beta_slow", "beta_slow")}) {
      ASSIGN_OR_RETURN(const auto beta, metadata_.number(key(name)));
      if (beta) scaling[config_key] = *beta;
    }
    // The quotient of these two multiplies cos and sin.
    if (config_.contains("mscale_all_dim")) {
      scaling["mscale"] = 1;
      scaling["mscale_all_dim"] = config_["mscale_all_dim"];
    }
    // The authors' program does not round the bounds of the ramp; files do not say so.
    if (architecture_ == "gpt-oss") scaling["truncate"] = false;
    return {};
  }

  Result<ModelConfig> parse() const {
    Result<ModelConfig> config = parse_model_config(config_);
    if (!config.ok()) return in_terms_of_metadata(std::move(config).error(), architecture_);
    return config;
  }

  Status check_head_sizes(const ModelConfig& config) const {
    for (const char* name : {"attention.value_length", "rope.dimension_count"}) {
      ASSIGN_OR_RETURN(const auto size, metadata_.whole(key(name), 0, kAny));
      if (size.value_or(config.head_dim) == config.head_dim) continue;
      const bool is_rotary = std::string_view(name) == "rope.dimension_count";
      if (is_rotary && *size == config.rope.rotary_dim(config.head_dim)) continue;
      return unsupported(key(name), "must be the size of a head, " +
                                        std::to_string(config.head_dim) + ", got " +
                                        std::to_string(*size));
    }
    return {};
  }

  const GgufFiles& files_;
  const GgufMetadata& metadata_;
  const std::string architecture_;
  Json config_ = Json::object();
};

Result<const Architecture*> supported_architecture(const GgufMetadata& metadata) {
  const std::string key = "general.architecture";
  ASSIGN_OR_RETURN(const std::string name, metadata.required_text(key));
  const auto* found = std::ranges::find(kArchitectures, name, &Architecture::name);
  if (found != kArchitectures.end()) return found;
  std::string supported;
  for (const Architecture& architecture : kArchitectures) {
    supported += (supported.empty() ? "" : ", ") + std::string(architecture.name);
  }
  const std::string kind(unsupported_kind(name));
  return unsupported(key, quote_text(name) + " is " + (kind.empty() ? "" : kind + ", which is ") +
                              "not supported (supported: " + supported + ")");
}

}  // namespace

Result<ModelConfig> gguf_model_config(const GgufFiles& files) {
  ASSIGN_OR_RETURN(const Architecture* architecture, supported_architecture(files.metadata()));
  return ConfigReader(files, *architecture).run();
}

}  // namespace cascade
