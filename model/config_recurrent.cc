// Keys and defaults are those of transformers' configuration classes.
#include "model/config_recurrent.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "model/config_layers.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

// Several times that of published models.
constexpr int64_t kScanHeadsMax = 512;
constexpr double kStepMax = 1e6;

// Keys that say which layers are recurrent.
constexpr std::string_view kTypes = "layer_types";
constexpr std::string_view kOlderTypes = "layers_block_type";  // Granite's older name
constexpr std::string_view kInterval = "full_attention_interval";
constexpr std::string_view kAttending = "full_attn_idxs";

constexpr std::string_view kAttends = "full_attention";

// LFM2's names of keys, and the usual ones.
struct OwnKey {
  std::string_view own;
  std::string_view usual;
  bool without_experts_only = false;
};
constexpr std::array<OwnKey, 4> kLfm2Keys = {{
    {"norm_eps", "rms_norm_eps"},
    {"tie_embedding", "tie_word_embeddings"},
    {"block_ff_dim", "intermediate_size", true},
    {"theta", "rope_theta", true},
}};

// Whether `config` says something under this name, so that the usual one does not count.
bool says_own_key(const Json& config, const ModelFamily& family, const OwnKey& key) {
  const bool may_have = family.mixture == MixtureRule::kNone || !key.without_experts_only;
  const bool is_theta = key.usual == "rope_theta";
  if (is_theta && find_field(config, "rope_parameters") != nullptr) return false;
  return may_have && find_field(config, key.own) != nullptr;
}

Result<int> scan_count(const Json& config, std::string_view key, int64_t max, int64_t fallback) {
  ASSIGN_OR_RETURN(const int64_t value, optional_int(config, key, 1, max, fallback));
  return static_cast<int>(value);
}

// The channels of a head.
Result<int> scan_dim(const Json& config, std::string_view key, int64_t fallback) {
  ASSIGN_OR_RETURN(const int dim, scan_count(config, key, kScanDimMax, fallback));
  if (dim % kScanDimStep == 0) return dim;
  return invalid_argument(std::string(key), "must be a multiple of 8, got " + std::to_string(dim));
}

// The key by which the file says which layers are recurrent, or could say so.
std::string_view layers_key(const Json& config, RecurrenceRule rule) {
  if (find_field(config, kTypes) != nullptr) return kTypes;
  switch (rule) {
    case RecurrenceRule::kNone: break;
    case RecurrenceRule::kQwen: return kInterval;
    case RecurrenceRule::kGranite4:
      return find_field(config, kOlderTypes) != nullptr ? kOlderTypes : kTypes;
    case RecurrenceRule::kLfm2: return kAttending;
  }
  return kTypes;
}

// Which layers are recurrent, from the names of their types.
Result<std::vector<bool>> layers_by_name(const Json& types, int layers,
                                         std::span<const std::string_view> recurrent) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, read_layer_types(types, layers));
  std::vector<bool> found;
  for (const std::string& name : names) {
    const bool is_recurrent = std::ranges::count(recurrent, name) != 0;
    // Files that were published before transformers 5 have the shorter name.
    if (!is_recurrent && name != kAttends && name != "attention") {
      std::string supported(kAttends);
      for (const std::string_view other : recurrent) supported += ", " + std::string(other);
      return unsupported(std::string(kTypes),
                         quote_text(name) + " is not supported (supported: " + supported + ")");
    }
    found.push_back(is_recurrent);
  }
  return found;
}

// Qwen: every full_attention_interval-th layer attends, unless layer_types says otherwise.
Result<std::vector<bool>> qwen_layers(const Json& config, int layers) {
  if (const Json* types = find_field(config, kTypes)) {
    return layers_by_name(*types, layers, std::array<std::string_view, 1>{"linear_attention"});
  }
  ASSIGN_OR_RETURN(const int interval, scan_count(config, kInterval, kDecoderLayersMax, 4));
  std::vector<bool> found;
  for (int layer = 0; layer < layers; ++layer) found.push_back((layer + 1) % interval != 0);
  return found;
}

// LFM2: the layers of full_attn_idxs attend, unless layer_types says otherwise.
Result<std::vector<bool>> lfm2_layers(const Json& config, int layers) {
  if (const Json* types = find_field(config, kTypes)) {
    return layers_by_name(*types, layers, std::array<std::string_view, 1>{"conv"});
  }
  const Json* attending = find_field(config, kAttending);
  if (attending == nullptr) return std::vector<bool>(static_cast<size_t>(layers), false);
  std::vector<bool> found(static_cast<size_t>(layers), true);
  const auto is_layer = [layers](const Json& layer) {
    return layer.is_number_integer() && layer >= 0 && layer < layers;
  };
  if (!attending->is_array() || !std::ranges::all_of(*attending, is_layer)) {
    return invalid_argument(
        std::string(kAttending),
        "must be a list of numbers of layers, from 0 to " + std::to_string(layers - 1));
  }
  for (const Json& layer : *attending) found[layer.get<size_t>()] = false;
  return found;
}

Result<std::vector<bool>> granite_layers(const Json& config, int layers) {
  const Json* types = find_field(config, layers_key(config, RecurrenceRule::kGranite4));
  if (types == nullptr) return std::vector<bool>(static_cast<size_t>(layers), true);
  return layers_by_name(*types, layers,
                        std::array<std::string_view, 2>{"linear_attention", "mamba"});
}

// Which layers are recurrent. An error names the key that the file has.
Result<std::vector<bool>> recurrent_layers(const Json& config, RecurrenceRule rule, int layers) {
  const auto read = [&]() -> Result<std::vector<bool>> {
    switch (rule) {
      case RecurrenceRule::kNone: break;
      case RecurrenceRule::kQwen: return qwen_layers(config, layers);
      case RecurrenceRule::kGranite4: return granite_layers(config, layers);
      case RecurrenceRule::kLfm2: return lfm2_layers(config, layers);
    }
    return std::vector<bool>();
  };
  Result<std::vector<bool>> found = read();
  if (found.ok()) return found;
  Error error = std::move(found).error();
  error.field = layers_key(config, rule);
  return error;
}

// Attention outputs of Qwen's models always have a gate here.
Status check_output_gate(const Json& config) {
  constexpr std::string_view kGate = "attn_output_gate";
  ASSIGN_OR_RETURN(const bool has_gate, optional_bool(config, kGate, true));
  if (has_gate) return {};
  return unsupported(std::string(kGate), "must be true");
}

Status check_heads(std::string_view key_heads, std::string_view value_heads,
                   const RecurrentConfig& out) {
  if (out.value_heads % out.key_heads == 0) return {};
  return invalid_argument(std::string(key_heads), "must divide " + std::string(value_heads) + " (" +
                                                      std::to_string(out.value_heads) + "), got " +
                                                      std::to_string(out.key_heads));
}

Status read_delta_net(const Json& config, RecurrentConfig& out) {
  out.kind = Recurrence::kDeltaNet;
  ASSIGN_OR_RETURN(out.taps, scan_count(config, "linear_conv_kernel_dim", kConvolutionTapsMax, 4));
  ASSIGN_OR_RETURN(out.key_dim, scan_dim(config, "linear_key_head_dim", 128));
  ASSIGN_OR_RETURN(out.value_dim, scan_dim(config, "linear_value_head_dim", 128));
  ASSIGN_OR_RETURN(out.key_heads, scan_count(config, "linear_num_key_heads", kScanHeadsMax, 16));
  ASSIGN_OR_RETURN(out.value_heads,
                   scan_count(config, "linear_num_value_heads", kScanHeadsMax, 32));
  RETURN_IF_ERROR(check_heads("linear_num_key_heads", "linear_num_value_heads", out));
  out.channels = 2 * out.key_channels() + out.value_channels();
  return {};
}

// One of the two limits of Mamba's steps. JSON has no infinity, so transformers writes an object.
Result<float> step_limit(const Json& value) {
  constexpr std::string_view kKey = "time_step_limit";
  const Json* name = find_field(value, "__float__");
  if (name != nullptr && *name == "Infinity") return std::numeric_limits<float>::infinity();
  if (value.is_number() && value >= 0 && value <= kStepMax) return value.get<float>();
  return invalid_argument(std::string(kKey),
                          "must be two numbers from 0 to 1000000 in order; the second may be "
                          "infinity");
}

Status read_step_limits(const Json& config, RecurrentConfig& out) {
  constexpr std::string_view kKey = "time_step_limit";
  const Json* limits = find_field(config, kKey);
  if (limits == nullptr) return {};
  if (!limits->is_array() || limits->size() != 2) return step_limit(Json()).error();
  ASSIGN_OR_RETURN(out.step_min, step_limit((*limits)[0]));
  ASSIGN_OR_RETURN(out.step_max, step_limit((*limits)[1]));
  if (std::isfinite(out.step_min) && out.step_min <= out.step_max) return {};
  return step_limit(Json()).error();
}

Status read_mamba(const Json& config, int hidden, RecurrentConfig& out) {
  out.kind = Recurrence::kMamba;
  ASSIGN_OR_RETURN(out.taps, scan_count(config, "mamba_d_conv", kConvolutionTapsMax, 4));
  ASSIGN_OR_RETURN(out.key_dim, scan_dim(config, "mamba_d_state", 256));
  ASSIGN_OR_RETURN(out.key_heads, scan_count(config, "mamba_n_groups", kScanHeadsMax, 1));
  ASSIGN_OR_RETURN(out.value_heads, scan_count(config, "mamba_n_heads", kScanHeadsMax, 128));
  RETURN_IF_ERROR(check_heads("mamba_n_groups", "mamba_n_heads", out));
  ASSIGN_OR_RETURN(const int expand, scan_count(config, "mamba_expand", kExpandMax, 2));
  const int64_t inner = int64_t{expand} * hidden;
  constexpr std::string_view kDim = "mamba_d_head";
  const Json* dim = find_field(config, kDim);
  if (dim == nullptr || *dim == "auto") {
    ASSIGN_OR_RETURN(out.value_dim, scan_dim({{kDim, inner / out.value_heads}}, kDim, 0));
  } else {
    ASSIGN_OR_RETURN(out.value_dim, scan_dim(config, kDim, 0));
  }
  if (out.value_channels() != inner) {
    return invalid_argument(std::string(kDim),
                            "times mamba_n_heads must be mamba_expand times hidden_size (" +
                                std::to_string(inner) + "), got " +
                                std::to_string(out.value_channels()));
  }
  out.channels = out.value_channels() + 2 * out.key_channels();
  ASSIGN_OR_RETURN(out.convolution_bias, optional_bool(config, "mamba_conv_bias", true));
  ASSIGN_OR_RETURN(out.projection_bias, optional_bool(config, "mamba_proj_bias", false));
  return read_step_limits(config, out);
}

Status read_convolution(const Json& config, int hidden, RecurrentConfig& out) {
  out.kind = Recurrence::kConvolution;
  ASSIGN_OR_RETURN(out.taps, scan_count(config, "conv_L_cache", kConvolutionTapsMax, 3));
  ASSIGN_OR_RETURN(out.convolution_bias, optional_bool(config, "conv_bias", false));
  out.projection_bias = out.convolution_bias;
  out.channels = hidden;
  return {};
}

// Fills the sizes, and checks that a state has a size that can be served.
Status read_sizes(const Json& config, const ModelFamily& family, const ModelConfig& model,
                  RecurrentConfig& out) {
  std::string_view size_key = "linear_key_head_dim";
  switch (family.recurrence) {
    case RecurrenceRule::kNone: return {};
    case RecurrenceRule::kQwen: RETURN_IF_ERROR(read_delta_net(config, out)); break;
    case RecurrenceRule::kGranite4:
      size_key = "mamba_d_state";
      RETURN_IF_ERROR(read_mamba(config, model.hidden_size, out));
      break;
    case RecurrenceRule::kLfm2:
      size_key = "conv_L_cache";
      RETURN_IF_ERROR(read_convolution(config, model.hidden_size, out));
      break;
  }
  const size_t bytes = out.layer_floats() * sizeof(float);
  if (bytes > kLayerStateBytesMax) {
    return unsupported(std::string(size_key), "makes the state of a layer " +
                                                  std::to_string(bytes) + " bytes, limit " +
                                                  std::to_string(kLayerStateBytesMax));
  }
  if (model.activation == Activation::kSilu) return {};
  return unsupported("hidden_act", "must be silu: recurrent layers have no other activation");
}

// The widths of LFM2's MLPs, as Lfm2MLP makes them of intermediate_size.
Status adjust_mlp(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(const bool adjusts, optional_bool(config, "block_auto_adjust_ff_dim", true));
  if (!adjusts) return {};
  constexpr std::string_view kFactor = "block_ffn_dim_multiplier";
  ASSIGN_OR_RETURN(const double factor, optional_number(config, kFactor, 1e-3, 1e3, 1));
  ASSIGN_OR_RETURN(const int64_t step,
                   optional_int(config, "block_multiple_of", 1, kMlpSizeMax, 256));
  auto size = static_cast<int64_t>(2.0 * out.intermediate_size / 3);
  // Without a factor, widths are not rounded either.
  if (!config.contains(kFactor) || find_field(config, kFactor) != nullptr) {
    size = static_cast<int64_t>(factor * static_cast<double>(size));
    size = (size + step - 1) / step * step;
  }
  if (size < 1 || size % 8 != 0 || size > kMlpSizeMax) {
    return invalid_argument("intermediate_size",
                            "must give MLPs of a multiple of 8 channels, at most " +
                                std::to_string(kMlpSizeMax) + ", got " + std::to_string(size));
  }
  out.intermediate_size = static_cast<int>(size);
  return {};
}

}  // namespace

size_t RecurrentConfig::input_floats() const {
  const auto floats = static_cast<size_t>(taps > 0 ? taps - 1 : 0) * static_cast<size_t>(channels);
  return round_up(floats, kCacheLineFloats);
}

size_t RecurrentConfig::layer_floats() const {
  const size_t matrices = static_cast<size_t>(value_channels()) * static_cast<size_t>(key_dim);
  return input_floats() + round_up(matrices, kCacheLineFloats);
}

size_t RecurrentConfig::state_floats() const {
  return static_cast<size_t>(std::ranges::count(layers, true)) * layer_floats();
}

size_t RecurrentConfig::layer_offset(int layer) const {
  const auto before = std::count(layers.begin(), layers.begin() + layer, true);
  return static_cast<size_t>(before) * layer_floats();
}

Json with_recurrent_defaults(const Json& config, const ModelFamily& family) {
  Json all = config;
  const auto add = [&all](std::string_view key, const Json& value) {
    if (find_field(all, key) == nullptr) all[std::string(key)] = value;
  };
  if (family.recurrence == RecurrenceRule::kQwen) {
    add("head_dim", 256);
    add("num_key_value_heads", family.mixture == MixtureRule::kNone ? 4 : 2);
    // No layer has an MLP of this size.
    if (family.mixture == MixtureRule::kQwen35) add("intermediate_size", 8);
  }
  if (family.recurrence != RecurrenceRule::kLfm2) return all;
  all["hidden_act"] = "silu";
  add("num_key_value_heads", 8);
  for (const OwnKey& key : kLfm2Keys) {
    if (says_own_key(config, family, key))
      all[std::string(key.usual)] = *find_field(config, key.own);
  }
  add("rms_norm_eps", 1e-5);
  const bool has_rope = find_field(all, "rope_parameters") != nullptr;
  if (!has_rope) add("rope_theta", 1'000'000);
  return all;
}

std::string_view own_key(const Json& config, const ModelFamily& family, std::string_view key) {
  if (family.recurrence != RecurrenceRule::kLfm2) return key;
  const auto* renamed = std::ranges::find_if(kLfm2Keys, [&](const OwnKey& own) {
    return own.usual == key && says_own_key(config, family, own);
  });
  return renamed == kLfm2Keys.end() ? key : renamed->own;
}

Status read_recurrent(const Json& config, const ModelFamily& family, ModelConfig& out) {
  if (family.recurrence == RecurrenceRule::kNone) return {};
  RecurrentConfig recurrent;
  ASSIGN_OR_RETURN(recurrent.layers, recurrent_layers(config, family.recurrence, out.layers));
  if (family.recurrence == RecurrenceRule::kQwen) RETURN_IF_ERROR(check_output_gate(config));
  if (family.recurrence == RecurrenceRule::kLfm2) {
    out.layer_names = LayerNames::kLfm2;
    if (family.mixture == MixtureRule::kNone) RETURN_IF_ERROR(adjust_mlp(config, out));
  }
  const auto count = std::ranges::count(recurrent.layers, true);
  if (count == 0) return {};
  if (count == out.layers) {
    const std::string key(layers_key(config, family.recurrence));
    const bool is_missing = find_field(config, key) == nullptr;
    return unsupported(key, std::string(is_missing ? "is missing, and " : "") +
                                "must let at least one layer attend: all are recurrent");
  }
  RETURN_IF_ERROR(read_sizes(config, family, out, recurrent));
  int parts = 0;
  for (int layer = 0; layer < out.layers; ++layer) {
    if (!recurrent.is_recurrent(layer)) {
      out.attention_shapes.push_back({out.kv_heads, out.head_dim, parts++});
      continue;
    }
    out.attention_shapes.push_back(
        {.kv_heads = 0, .head_dim = 0, .kv_part = 0, .writes_kv = false});
    out.layer_rope[static_cast<size_t>(layer)] = LayerRope::kNone;
  }
  out.recurrent = std::move(recurrent);
  return {};
}

}  // namespace cascade
