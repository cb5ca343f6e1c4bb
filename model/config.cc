// config.json and generation_config.json: every field checked before anything is sized by it.
#include "model/config.h"

#include <algorithm>
#include <array>
#include <cfloat>
#include <climits>

#include "model/config_rope.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

constexpr std::array<std::string_view, 4> kModelTypes = {"llama", "mistral", "qwen2", "qwen3"};

// Several times the largest known dense models; products of two of them fit an int64_t, and
// heads x head_dim fits an int.
constexpr int64_t kLayersMax = 512;
constexpr int64_t kHeadsMax = 512;
constexpr int64_t kHeadDimMax = 512;
constexpr int64_t kHiddenSizeMax = 65'536;
constexpr int64_t kIntermediateSizeMax = 1'048'576;
constexpr int64_t kVocabSizeMax = int64_t{1} << 21;
constexpr int64_t kContextTokensMax = int64_t{1} << 24;
constexpr int64_t kWidthStep = 8;  // kernels take whole groups of eight channels
constexpr double kRmsNormEpsMax = 1e-1;

// What transformers' configuration classes assume where a file leaves the key out.
constexpr int64_t kSlidingWindowDefault = 4096;
constexpr int64_t kMaxWindowLayersDefault = 28;

constexpr std::string_view kConfigFile = "config.json";
constexpr std::string_view kGenerationFile = "generation_config.json";

constexpr size_t kEndTokensMax = 64;
constexpr int kTopKDefault = 50;
constexpr double kTemperatureMax = 100;
constexpr double kRepetitionPenaltyMax = 100;

// The same error, with the file in which its field is.
Error in_file(Error error, std::string_view file) {
  if (error.field != file) error.message += " (in " + std::string(file) + ")";
  return error;
}

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

Status read_model_type(const Json& config, ModelConfig& out) {
  if (!config.is_object())
    return invalid_argument(std::string(kConfigFile), "must be a JSON object");
  ASSIGN_OR_RETURN(out.model_type, required_string(config, "model_type"));
  if (std::ranges::count(kModelTypes, out.model_type) != 0) return {};
  return unsupported("model_type", quote_text(out.model_type) +
                                       " is not supported (supported: llama, mistral, qwen2, "
                                       "qwen3)");
}

// What would make the weights or the arithmetic others than we compute.
Status refuse_what_is_not_built(const Json& config) {
  if (find_field(config, "quantization_config") != nullptr) {
    return unsupported("quantization_config", "quantised checkpoints are not supported");
  }
  ASSIGN_OR_RETURN(const std::string activation, required_string(config, "hidden_act"));
  if (activation == "silu") return {};
  return unsupported("hidden_act", quote_text(activation) + " is not supported (supported: silu)");
}

Status read_sizes(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(out.layers, required_count(config, "num_hidden_layers", kLayersMax));
  ASSIGN_OR_RETURN(out.hidden_size, required_width(config, "hidden_size", kHiddenSizeMax));
  ASSIGN_OR_RETURN(out.intermediate_size,
                   required_width(config, "intermediate_size", kIntermediateSizeMax));
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

Status read_switches(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(const bool attention_bias, optional_bool(config, "attention_bias", false));
  ASSIGN_OR_RETURN(const bool mlp_bias, optional_bool(config, "mlp_bias", false));
  ASSIGN_OR_RETURN(out.tied_embeddings, optional_bool(config, "tie_word_embeddings", false));
  const bool has_attention_bias_key = out.model_type == "llama" || out.model_type == "qwen3";
  out.qk_norm = out.model_type == "qwen3";
  out.qkv_bias = out.model_type == "qwen2" || (has_attention_bias_key && attention_bias);
  out.output_bias = has_attention_bias_key && attention_bias;
  out.mlp_bias = out.model_type == "llama" && mlp_bias;
  return {};
}

// The width of the sliding window, or 0 if the model has none.
Result<int> sliding_window(const Json& config, std::string_view model_type) {
  if (model_type != "mistral") {
    ASSIGN_OR_RETURN(const bool is_used, optional_bool(config, "use_sliding_window", false));
    if (!is_used) return 0;
  }
  // Null says that there is none; only an absent key has the default.
  const int64_t fallback = config.contains("sliding_window") ? 0 : kSlidingWindowDefault;
  ASSIGN_OR_RETURN(const int64_t window,
                   optional_int(config, "sliding_window", 1, INT_MAX, fallback));
  return static_cast<int>(window);
}

// Which layers have the window: 1 or 0 each, from layer_types. Precondition: it is not null.
Result<std::vector<int>> layers_by_type(const Json& types, int layers) {
  if (!types.is_array() || types.size() != static_cast<size_t>(layers)) {
    return invalid_argument("layer_types", "must be a list of num_hidden_layers (" +
                                               std::to_string(layers) + ") strings");
  }
  std::vector<int> is_sliding;
  for (const Json& type : types) {
    if (!type.is_string()) return invalid_argument("layer_types", "must contain strings only");
    const auto& name = type.get_ref<const std::string&>();
    if (name != "sliding_attention" && name != "full_attention") {
      return unsupported("layer_types", quote_text(name) +
                                            " is not supported (supported: full_attention, "
                                            "sliding_attention)");
    }
    is_sliding.push_back(name == "sliding_attention" ? 1 : 0);
  }
  return is_sliding;
}

Status read_windows(const Json& config, ModelConfig& out) {
  out.window.assign(static_cast<size_t>(out.layers), 0);
  if (out.model_type == "llama") return {};
  ASSIGN_OR_RETURN(const int window, sliding_window(config, out.model_type));
  if (const Json* types = find_field(config, "layer_types")) {
    ASSIGN_OR_RETURN(out.window, layers_by_type(*types, out.layers));
    const bool any = std::ranges::count(out.window, 1) != 0;
    if (any && window == 0) {
      return invalid_argument("layer_types", "has sliding_attention, but sliding_window is off");
    }
    for (int& width : out.window) width *= window;
    return {};
  }
  int64_t full_layers = 0;  // mistral: every layer slides
  if (out.model_type != "mistral") {
    ASSIGN_OR_RETURN(full_layers, optional_int(config, "max_window_layers", 0, INT_MAX,
                                               kMaxWindowLayersDefault));
  }
  for (int64_t layer = full_layers; layer < out.layers; ++layer) {
    out.window[static_cast<size_t>(layer)] = window;
  }
  return {};
}

// A number, a list of numbers, or null (no end token).
Result<std::vector<int32_t>> read_end_tokens(const Json& source, int vocab_size) {
  constexpr std::string_view kKey = "eos_token_id";
  std::vector<int32_t> tokens;
  const Json* value = find_field(source, kKey);
  if (value == nullptr) return tokens;
  const size_t count = value->is_array() ? value->size() : 1;
  if (count > kEndTokensMax) {
    return invalid_argument(std::string(kKey), "must have at most " +
                                                   std::to_string(kEndTokensMax) +
                                                   " entries, got " + std::to_string(count));
  }
  for (size_t i = 0; i < count; ++i) {
    const Json holder = {{kKey, value->is_array() ? (*value)[i] : *value}};
    ASSIGN_OR_RETURN(const int64_t token, required_int(holder, kKey, 0, vocab_size - 1));
    tokens.push_back(static_cast<int32_t>(token));
  }
  return tokens;
}

// Each key counts where generation_config.json has it, else as config.json has it.
Status read_tokens(const Json& generation, const Json& config, int vocab_size,
                   GenerationConfig& out) {
  const auto file_of = [&](std::string_view key) {
    return find_field(generation, key) != nullptr ? kGenerationFile : kConfigFile;
  };
  const auto source = [&](std::string_view key) -> const Json& {
    return file_of(key) == kGenerationFile ? generation : config;
  };
  Result<std::vector<int32_t>> end_tokens = read_end_tokens(source("eos_token_id"), vocab_size);
  if (!end_tokens.ok()) return in_file(std::move(end_tokens).error(), file_of("eos_token_id"));
  out.end_tokens = std::move(end_tokens).value();
  const Json& begin_source = source("bos_token_id");
  if (find_field(begin_source, "bos_token_id") == nullptr) return {};
  Result<int64_t> begin = required_int(begin_source, "bos_token_id", 0, vocab_size - 1);
  if (!begin.ok()) return in_file(std::move(begin).error(), file_of("bos_token_id"));
  out.begin_token = static_cast<int32_t>(*begin);
  return {};
}

Status read_sampling(const Json& generation, int vocab_size, GenerationConfig& out) {
  ASSIGN_OR_RETURN(out.do_sample, optional_bool(generation, "do_sample", false));
  ASSIGN_OR_RETURN(out.temperature,
                   optional_number(generation, "temperature", 0, kTemperatureMax, 1));
  ASSIGN_OR_RETURN(const std::optional<double> top_p, number_above(generation, "top_p", 0, 1));
  out.top_p = top_p.value_or(1);
  ASSIGN_OR_RETURN(const int64_t top_k, optional_int(generation, "top_k", 0, vocab_size,
                                                     std::min(kTopKDefault, vocab_size)));
  out.top_k = static_cast<int>(top_k);
  ASSIGN_OR_RETURN(out.min_p, optional_number(generation, "min_p", 0, 1, 0));
  ASSIGN_OR_RETURN(const std::optional<double> penalty,
                   number_above(generation, "repetition_penalty", 0, kRepetitionPenaltyMax));
  out.repetition_penalty = penalty.value_or(1);
  return {};
}

Result<ModelConfig> read_model_config(const Json& config) {
  ModelConfig out;
  RETURN_IF_ERROR(read_model_type(config, out));
  RETURN_IF_ERROR(refuse_what_is_not_built(config));
  RETURN_IF_ERROR(read_sizes(config, out));
  RETURN_IF_ERROR(read_heads(config, out));
  RETURN_IF_ERROR(read_switches(config, out));
  RETURN_IF_ERROR(read_windows(config, out));
  ASSIGN_OR_RETURN(out.rope, parse_rope_config(config, out.context_tokens_max));
  return out;
}

}  // namespace

Result<ModelConfig> parse_model_config(const Json& config) {
  Result<ModelConfig> read = read_model_config(config);
  if (!read.ok()) return in_file(std::move(read).error(), kConfigFile);
  return read;
}

Result<GenerationConfig> parse_generation_config(const Json& generation, const Json& config,
                                                 int vocab_size) {
  if (!generation.is_null() && !generation.is_object()) {
    return invalid_argument(std::string(kGenerationFile), "must be a JSON object");
  }
  GenerationConfig out;
  RETURN_IF_ERROR(read_tokens(generation, config, vocab_size, out));
  const Status sampling = read_sampling(generation, vocab_size, out);
  if (!sampling.ok()) return in_file(sampling.error(), kGenerationFile);
  return out;
}

}  // namespace cascade
