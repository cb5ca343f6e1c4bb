// The rotary embedding part of config.json: two dialects, six types.
#include "model/config_rope.h"

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "model/json_fields.h"

namespace cascade {
namespace {

// Far outside what models use; they keep every derived number finite and non-zero in f64.
constexpr double kThetaMax = 1e12;
constexpr double kFactorMax = 1e6;
constexpr double kBetaMax = 1e4;
constexpr double kScaleMax = 100;
constexpr double kContextMax = 1 << 24;  // the limit of max_position_embeddings
constexpr size_t kDivisorsMax = 256;     // pairs of the largest head
constexpr double kDivisorMin = 1e-6;

constexpr double kBetaFastDefault = 32;  // transformers' and the YaRN paper's
constexpr double kBetaSlowDefault = 1;

Error missing(std::string_view key) {
  return invalid_argument(std::string(key), "is missing");
}

Result<double> required_above(const Json& rope, std::string_view key, double above, double max) {
  ASSIGN_OR_RETURN(const std::optional<double> number, number_above(rope, key, above, max));
  if (!number) return missing(key);
  return *number;
}

// A number; `fallback` if it is absent, null or 0, as with Python's `or`.
Result<double> number_or(const Json& rope, std::string_view key, double max, double fallback) {
  ASSIGN_OR_RETURN(const double number, optional_number(rope, key, 0, max, 0));
  return number == 0 ? fallback : number;
}

Result<double> scaling_factor(const Json& rope) {
  if (find_field(rope, "factor") == nullptr) return missing("factor");
  return required_number(rope, "factor", 1, kFactorMax);
}

// "rope_type", which older files call "type". Absent means "default", unless there is a factor
// that "default" would ignore.
Result<std::string> scaling_type(const Json& rope) {
  ASSIGN_OR_RETURN(const std::string name, optional_string(rope, "rope_type", ""));
  ASSIGN_OR_RETURN(const std::string old_name, optional_string(rope, "type", ""));
  if (!name.empty() && !old_name.empty() && name != old_name) {
    return invalid_argument("rope_type",
                            "is " + quote_text(name) + ", but type is " + quote_text(old_name));
  }
  if (!name.empty()) return name;
  if (!old_name.empty()) return old_name;
  if (find_field(rope, "factor") != nullptr) {
    return invalid_argument("rope_type", "is missing beside factor");
  }
  return std::string("default");
}

// The share of a head's dimensions that is rotated. Either object may have the key.
Result<double> read_rotary_share(const Json& rope, const Json& config) {
  ASSIGN_OR_RETURN(const std::optional<double> share,
                   agreed_number_above(rope, config, "partial_rotary_factor", 0, 1));
  return share.value_or(1);
}

// Models with several kinds of layers nest one set of parameters for each.
Status check_not_per_layer_type(const Json& rope, std::string_view key) {
  for (const auto& [name, value] : rope.items()) {
    if (value.is_object()) {
      return unsupported(std::string(key),
                         "parameters per layer type (" + quote_text(name) + ") are not supported");
    }
  }
  return {};
}

Status read_llama3(const Json& rope, const Json& config, RopeConfig& out) {
  ASSIGN_OR_RETURN(out.factor, scaling_factor(rope));
  ASSIGN_OR_RETURN(out.low_freq_factor, required_above(rope, "low_freq_factor", 0, kFactorMax));
  ASSIGN_OR_RETURN(out.high_freq_factor, required_above(rope, "high_freq_factor", 0, kFactorMax));
  if (out.high_freq_factor <= out.low_freq_factor) {
    return invalid_argument("high_freq_factor", "must be greater than low_freq_factor");
  }
  constexpr std::string_view kKey = "original_max_position_embeddings";
  ASSIGN_OR_RETURN(const std::optional<double> original,
                   agreed_number_above(rope, config, kKey, 0, kContextMax));
  if (!original) return missing(kKey);
  out.original_context = *original;
  return {};
}

// The multiplier of cos and sin if the file does not give one: it grows with the logarithm of the
// factor. DeepSeek's mscale and mscale_all_dim count only if both are given and neither is 0.
Result<double> derived_attention_factor(const Json& rope, double factor) {
  ASSIGN_OR_RETURN(const double mscale, optional_number(rope, "mscale", 0, kScaleMax, 0));
  ASSIGN_OR_RETURN(const double all_dim, optional_number(rope, "mscale_all_dim", 0, kScaleMax, 0));
  const auto grown = [factor](double scale) { return 0.1 * scale * std::log(factor) + 1.0; };
  if (mscale != 0 && all_dim != 0) return grown(mscale) / grown(all_dim);
  return grown(1);
}

Status read_yarn(const Json& rope, const Json& config, int context_tokens_max, RopeConfig& out) {
  ASSIGN_OR_RETURN(out.factor, scaling_factor(rope));
  ASSIGN_OR_RETURN(out.beta_fast, number_or(rope, "beta_fast", kBetaMax, kBetaFastDefault));
  ASSIGN_OR_RETURN(out.beta_slow, number_or(rope, "beta_slow", kBetaMax, kBetaSlowDefault));
  if (out.beta_fast < out.beta_slow) {
    return invalid_argument("beta_fast", "must be at least beta_slow");
  }
  ASSIGN_OR_RETURN(out.truncate, optional_bool(rope, "truncate", true));
  ASSIGN_OR_RETURN(
      const std::optional<double> original,
      agreed_number_above(rope, config, "original_max_position_embeddings", 0, kContextMax));
  out.original_context = original.value_or(context_tokens_max);
  ASSIGN_OR_RETURN(const std::optional<double> attention,
                   number_above(rope, "attention_factor", 0, kScaleMax));
  if (attention) {
    out.attention_factor = *attention;
    return {};
  }
  ASSIGN_OR_RETURN(out.attention_factor, derived_attention_factor(rope, out.factor));
  return {};
}

// The divisor of the frequency of each pair of dimensions.
Result<std::vector<float>> read_divisors(const Json& rope, std::string_view key) {
  const Json* list = find_field(rope, key);
  if (list == nullptr) return missing(key);
  if (!list->is_array() || list->empty() || list->size() > kDivisorsMax) {
    return invalid_argument(std::string(key),
                            "must be a list of 1 to " + std::to_string(kDivisorsMax) + " numbers");
  }
  std::vector<float> divisors;
  for (const Json& value : *list) {
    const Json holder = {{key, value}};
    ASSIGN_OR_RETURN(const double divisor, required_number(holder, key, kDivisorMin, kFactorMax));
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

// LongRoPE (Ding et al. 2024). A model whose context is longer than the original uses its long list
// at every position: sequences of any length share pages of K, so K may not depend on the length.
Status read_longrope(const Json& rope, const Json& config, int context_tokens_max,
                     RopeConfig& out) {
  if (find_field(rope, "short_mscale") != nullptr || find_field(rope, "long_mscale") != nullptr) {
    return unsupported("short_mscale", "and long_mscale are not supported");
  }
  ASSIGN_OR_RETURN(std::vector<float> shorter, read_divisors(rope, "short_factor"));
  ASSIGN_OR_RETURN(std::vector<float> longer, read_divisors(rope, "long_factor"));
  if (shorter.size() != longer.size()) {
    return invalid_argument("long_factor", "must have as many numbers as short_factor");
  }
  constexpr std::string_view kKey = "original_max_position_embeddings";
  // The original context must be above 1, because we divide by its logarithm.
  ASSIGN_OR_RETURN(const std::optional<double> original,
                   agreed_number_above(rope, config, kKey, 1, kContextMax));
  if (!original) return missing(kKey);
  out.original_context = *original;
  ASSIGN_OR_RETURN(out.factor, optional_number(rope, "factor", kDivisorMin, kFactorMax,
                                               context_tokens_max / out.original_context));
  ASSIGN_OR_RETURN(const std::optional<double> attention,
                   number_above(rope, "attention_factor", 0, kScaleMax));
  const double derived =
      out.factor <= 1 ? 1 : std::sqrt(1 + std::log(out.factor) / std::log(out.original_context));
  // Rounded to f32, as files of other formats hold it.
  out.attention_factor = static_cast<float>(attention.value_or(derived));
  out.divisors = std::move(context_tokens_max > out.original_context ? longer : shorter);
  return {};
}

// `rope` is the value of `key` ("rope_parameters", "rope_scaling"), or null if neither is there.
Result<RopeConfig> read_rope(const Json& rope, std::string_view key, const Json& config,
                             int context_tokens_max) {
  if (!rope.is_null() && !rope.is_object()) {
    return invalid_argument(std::string(key),
                            "must be an object or null, got " + std::string(rope.type_name()));
  }
  RETURN_IF_ERROR(check_not_per_layer_type(rope, key));
  RopeConfig out;
  ASSIGN_OR_RETURN(out.rotary_share, read_rotary_share(rope, config));
  ASSIGN_OR_RETURN(const std::optional<double> theta,
                   agreed_number_above(rope, config, "rope_theta", 1, kThetaMax));
  if (!theta) {
    return invalid_argument("rope_theta", "is missing (neither rope_theta nor rope_parameters)");
  }
  out.theta = *theta;
  ASSIGN_OR_RETURN(const std::string type, scaling_type(rope));
  if (type == "default") return out;
  if (type == "linear") {
    out.scaling = RopeScaling::kLinear;
    ASSIGN_OR_RETURN(out.factor, scaling_factor(rope));
    return out;
  }
  if (type == "proportional") {
    out.scaling = RopeScaling::kProportional;
    ASSIGN_OR_RETURN(out.factor, optional_number(rope, "factor", kDivisorMin, kFactorMax, 1));
    out.moving_share = std::exchange(out.rotary_share, 1);
    return out;
  }
  if (type == "llama3") {
    out.scaling = RopeScaling::kLlama3;
    RETURN_IF_ERROR(read_llama3(rope, config, out));
    return out;
  }
  if (type == "yarn") {
    out.scaling = RopeScaling::kYarn;
    RETURN_IF_ERROR(read_yarn(rope, config, context_tokens_max, out));
    return out;
  }
  if (type == "longrope" || type == "su") {
    out.scaling = RopeScaling::kLongRope;
    RETURN_IF_ERROR(read_longrope(rope, config, context_tokens_max, out));
    return out;
  }
  return unsupported(
      "rope_type",
      quote_text(type) +
          " is not supported (supported: default, linear, proportional, llama3, yarn, longrope)");
}

}  // namespace

int RopeConfig::rotary_dim(int head_dim) const {
  constexpr double kRoundingError = 1e-6;  // of a share that was a quotient of whole numbers
  return static_cast<int>(head_dim * rotary_share + kRoundingError);
}

Result<RopeConfig> parse_rope_config(const Json& config, int context_tokens_max) {
  const Json* parameters = find_field(config, "rope_parameters");
  const Json* scaling = find_field(config, "rope_scaling");
  const bool is_v5 = parameters != nullptr;
  const Json none;
  const Json& rope = is_v5 ? *parameters : scaling != nullptr ? *scaling : none;
  ASSIGN_OR_RETURN(RopeConfig out, read_rope(rope, is_v5 ? "rope_parameters" : "rope_scaling",
                                             config, context_tokens_max));
  if (parameters == nullptr || scaling == nullptr) return out;
  // The file is written for readers of both dialects. That is fine if both would read the same.
  Json old_style = *scaling;
  if (old_style.is_object() && !old_style.contains("rope_theta"))
    old_style["rope_theta"] = out.theta;
  ASSIGN_OR_RETURN(const RopeConfig old,
                   read_rope(old_style, "rope_scaling", config, context_tokens_max));
  if (old == out) return out;
  return invalid_argument("rope_scaling", "contradicts rope_parameters");
}

}  // namespace cascade
