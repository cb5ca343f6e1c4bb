// Keys and defaults are those of transformers' Gemma4TextConfig.
#include "model/config_gemma4.h"

#include <charconv>
#include <string>
#include <string_view>

#include "model/json_fields.h"

namespace cascade {
namespace {

constexpr int64_t kFullEvery = 6;
constexpr int64_t kGlobalHeadDimDefault = 512;
constexpr int64_t kInputSizeMax = 8192;  // published models have 256
constexpr int64_t kInputVocabMax = int64_t{1} << 21;
constexpr std::string_view kLayerTypes = "layer_types";
constexpr std::string_view kFullLayer = "full_attention";
constexpr std::string_view kSlidingLayer = "sliding_attention";
constexpr std::string_view kPerLayer = "per_layer_config";
constexpr std::string_view kSharedLayers = "num_kv_shared_layers";

// The types of `layers` layers: every sixth one is full.
Json default_types(int64_t layers) {
  Json types = Json::array();
  for (int64_t layer = 0; layer < layers; ++layer) {
    types.push_back((layer + 1) % kFullEvery == 0 ? kFullLayer : kSlidingLayer);
  }
  return types;
}

// The kernels take whole groups of eight channels.
Status read_head_dim(const Json& from, std::string_view key, AttentionShape& shape) {
  ASSIGN_OR_RETURN(const int64_t dim, optional_int(from, key, 8, 512, shape.head_dim));
  if (dim % 8 != 0) {
    return invalid_argument(std::string(key),
                            "must be a multiple of 8, got " + std::to_string(dim));
  }
  shape.head_dim = static_cast<int>(dim);
  return {};
}

Status read_kv_heads(const Json& from, std::string_view key, int query_heads,
                     AttentionShape& shape) {
  ASSIGN_OR_RETURN(const int64_t heads, optional_int(from, key, 1, query_heads, shape.kv_heads));
  if (query_heads % heads != 0) {
    return invalid_argument(std::string(key), "must divide num_attention_heads (" +
                                                  std::to_string(query_heads) + "), got " +
                                                  std::to_string(heads));
  }
  shape.kv_heads = static_cast<int>(heads);
  return {};
}

// Reads what single layers have instead of head_dim and num_key_value_heads.
Status read_by_layer(const Json& by_layer, ModelConfig& out) {
  if (!by_layer.is_object()) {
    return invalid_argument(std::string(kPerLayer),
                            "must be an object, got " + std::string(by_layer.type_name()));
  }
  for (const auto& [key, of_layer] : by_layer.items()) {
    size_t layer = 0;
    const char* const end = key.data() + key.size();
    const auto parsed = std::from_chars(key.data(), end, layer);
    if (parsed.ec != std::errc() || parsed.ptr != end || layer >= out.attention_shapes.size()) {
      return invalid_argument(std::string(kPerLayer),
                              "must have the numbers of layers, from 0 to " +
                                  std::to_string(out.layers - 1) + ", got " + quote_text(key));
    }
    if (!of_layer.is_object()) {
      return invalid_argument(std::string(kPerLayer), "must have objects only");
    }
    for (const auto& [name, value] : of_layer.items()) {
      if (name == "head_dim" || name == "num_key_value_heads") continue;
      return unsupported(std::string(kPerLayer),
                         "has " + quote_text(name) + " (supported: head_dim, num_key_value_heads)");
    }
    AttentionShape& shape = out.attention_shapes[layer];
    RETURN_IF_ERROR(read_head_dim(of_layer, "head_dim", shape));
    RETURN_IF_ERROR(read_kv_heads(of_layer, "num_key_value_heads", out.query_heads, shape));
  }
  return {};
}

// Reads what all full layers have, in files that do not say it layer by layer.
Status read_full_layers(const Json& config, bool key_is_value, ModelConfig& out) {
  AttentionShape full = {out.kv_heads, static_cast<int>(kGlobalHeadDimDefault)};
  RETURN_IF_ERROR(read_head_dim(config, "global_head_dim", full));
  if (key_is_value) {
    RETURN_IF_ERROR(read_kv_heads(config, "num_global_key_value_heads", out.query_heads, full));
  }
  for (size_t layer = 0; layer < out.attention_shapes.size(); ++layer) {
    if (out.window[layer] == 0) out.attention_shapes[layer] = full;
  }
  return {};
}

// Layers of a type share the angles of their RoPE, and perhaps K and V.
Status check_types_alike(const ModelConfig& config) {
  for (size_t layer = 0; layer < config.window.size(); ++layer) {
    for (size_t earlier = 0; earlier < layer; ++earlier) {
      if ((config.window[layer] == 0) != (config.window[earlier] == 0)) continue;
      if (config.attention_shapes[layer] == config.attention_shapes[earlier]) break;
      return unsupported(std::string(kPerLayer),
                         "layers " + std::to_string(earlier) + " and " + std::to_string(layer) +
                             " have the same type, so they must have the same head_dim and "
                             "num_key_value_heads");
    }
  }
  return {};
}

// Numbers the parts of a page; the last layers use the part of the last earlier layer of their
// type.
Status share_kv(int shared, bool key_is_value, ModelConfig& out) {
  const int first = out.layers - shared;
  for (int layer = 0; layer < out.layers; ++layer) {
    const bool is_full = out.window[size_t(layer)] == 0;
    AttentionShape& shape = out.attention_shapes[size_t(layer)];
    shape.key_is_value = key_is_value && is_full;
    shape.kv_part = layer;
    if (layer < first) continue;
    shape.writes_kv = false;
    int source = first - 1;
    while (source >= 0 && (out.window[size_t(source)] == 0) != is_full) --source;
    if (source < 0) {
      return invalid_argument(std::string(kSharedLayers),
                              "leaves no layer whose K and V layer " + std::to_string(layer) +
                                  " could use: none before layer " + std::to_string(first) +
                                  " has its type");
    }
    shape.kv_part = source;
  }
  return {};
}

Status read_inputs(const Json& config, ModelConfig& out) {
  constexpr std::string_view kSize = "hidden_size_per_layer_input";
  constexpr std::string_view kVocab = "vocab_size_per_layer_input";
  ASSIGN_OR_RETURN(const int64_t size, optional_int(config, kSize, 0, kInputSizeMax, 0));
  if (size == 0) return {};
  if (size % 8 != 0) {
    return invalid_argument(std::string(kSize),
                            "must be a multiple of 8, got " + std::to_string(size));
  }
  ASSIGN_OR_RETURN(const int64_t vocab,
                   required_int(config, kVocab, out.vocab_size, kInputVocabMax));
  out.layer_input_size = static_cast<int>(size);
  out.layer_input_vocab = static_cast<int>(vocab);
  return {};
}

}  // namespace

Json with_gemma4_defaults(const Json& config) {
  Json whole = config;
  const auto add = [&whole](std::string_view key, const Json& value) {
    if (find_field(whole, key) == nullptr) whole[std::string(key)] = value;
  };
  add("rope_parameters", {{kSlidingLayer, {{"rope_type", "default"}, {"rope_theta", 10'000}}},
                          {kFullLayer,
                           {{"rope_type", "proportional"},
                            {"partial_rotary_factor", 0.25},
                            {"rope_theta", 1'000'000}}}});
  add("vocab_size_per_layer_input", 262'144);
  // Null and 0 say that there are none; only an absent key has the default.
  if (!whole.contains("hidden_size_per_layer_input")) whole["hidden_size_per_layer_input"] = 256;
  const Json* layers = find_field(whole, "num_hidden_layers");
  constexpr int64_t kLayersMax = 512;
  if (layers != nullptr && layers->is_number_integer() && *layers >= 1 && *layers <= kLayersMax) {
    add(kLayerTypes, default_types(layers->get<int64_t>()));
  }
  const auto types = whole.find(kLayerTypes);
  if (types != whole.end() && types->is_array() && !types->empty() &&
      types->back() == kSlidingLayer) {
    types->back() = kFullLayer;
  }
  return whole;
}

Status read_gemma4(const Json& config, ModelConfig& out) {
  ASSIGN_OR_RETURN(const bool key_is_value, optional_bool(config, "attention_k_eq_v", false));
  ASSIGN_OR_RETURN(const int64_t shared, optional_int(config, kSharedLayers, 0, out.layers - 1, 0));
  ASSIGN_OR_RETURN(const bool is_wide, optional_bool(config, "use_double_wide_mlp", false));
  out.attention_shapes.assign(size_t(out.layers), {out.kv_heads, out.head_dim});
  if (const Json* by_layer = find_field(config, kPerLayer)) {
    RETURN_IF_ERROR(read_by_layer(*by_layer, out));
  } else {
    RETURN_IF_ERROR(read_full_layers(config, key_is_value, out));
  }
  RETURN_IF_ERROR(check_types_alike(out));
  RETURN_IF_ERROR(share_kv(static_cast<int>(shared), key_is_value, out));
  if (is_wide && shared > 0) {
    for (const AttentionShape& shape : out.attention_shapes) {
      out.intermediate_sizes.push_back(out.intermediate_size * (shape.writes_kv ? 1 : 2));
    }
  }
  out.value_norms = true;
  out.layer_scales = true;
  return read_inputs(config, out);
}

}  // namespace cascade
