// Windows and rotation by layer, from lists in the file or from a family's pattern.
#include "model/config_layers.h"

#include <algorithm>
#include <climits>

#include "model/config_rope.h"
#include "model/json_fields.h"

namespace cascade {
namespace {

// The value that transformers' configuration classes assume if a file leaves the key out.
constexpr int64_t kMaxWindowLayersDefault = 28;
constexpr int64_t kNopeIntervalDefault = 4;
constexpr double kLocalThetaDefault = 10'000;
constexpr double kQueryBetaMax = 1e3;  // published models have 0.1

constexpr std::string_view kSliding = "sliding_attention";
constexpr std::string_view kFull = "full_attention";

// The width of the sliding window, or 0 if the model has none.
Result<int> sliding_window(const Json& config, const ModelFamily& family) {
  const bool asks =
      family.windows == WindowRule::kLaterLayers || family.windows == WindowRule::kNopeLayers ||
      family.windows == WindowRule::kIfUsed || family.windows == WindowRule::kEvenEarlier;
  if (asks) {
    ASSIGN_OR_RETURN(const bool is_used, optional_bool(config, "use_sliding_window", false));
    if (!is_used) return 0;
  }
  // Null says that there is no window; only an absent key has the default.
  const int64_t fallback = config.contains("sliding_window") ? 0 : family.window_default;
  ASSIGN_OR_RETURN(const int64_t window,
                   optional_int(config, "sliding_window", 1, INT_MAX, fallback));
  return static_cast<int>(window);
}

// Which layers have the window (1 or 0 each), from layer_types. Precondition: `types` is not null.
Result<std::vector<int>> layers_by_type(const Json& types, int layers) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, read_layer_types(types, layers));
  std::vector<int> is_sliding;
  for (const std::string& name : names) {
    if (name != kSliding && name != kFull) {
      return unsupported("layer_types", quote_text(name) +
                                            " is not supported (supported: full_attention, "
                                            "sliding_attention)");
    }
    is_sliding.push_back(name == kSliding ? 1 : 0);
  }
  return is_sliding;
}

// Which layers of a model with sliding windows have the window (1 or 0 each), by its family's rule.
Result<std::vector<int>> layers_by_rule(const Json& config, const ModelFamily& family,
                                        const ModelConfig& model) {
  std::vector<int> is_sliding(static_cast<size_t>(model.layers), 0);
  const auto mark = [&](const auto& slides) {
    for (int64_t layer = 0; layer < model.layers; ++layer) {
      is_sliding[static_cast<size_t>(layer)] = slides(layer) ? 1 : 0;
    }
  };
  switch (family.windows) {
    case WindowRule::kNone: break;
    case WindowRule::kAllLayers:
    case WindowRule::kIfUsed: mark([](int64_t) { return true; }); break;
    case WindowRule::kAlternating: mark([](int64_t layer) { return layer % 2 == 0; }); break;
    case WindowRule::kEvenEarlier:
    case WindowRule::kLaterLayers: {
      const bool is_later = family.windows == WindowRule::kLaterLayers;
      ASSIGN_OR_RETURN(const int64_t bound, optional_int(config, "max_window_layers", 0, INT_MAX,
                                                         kMaxWindowLayersDefault));
      mark([&](int64_t layer) {
        return is_later ? layer >= bound : layer < bound && layer % 2 == 0;
      });
      break;
    }
    case WindowRule::kPattern: {
      ASSIGN_OR_RETURN(const int64_t pattern, optional_int(config, "sliding_window_pattern", 1,
                                                           INT_MAX, family.window_pattern));
      mark([&](int64_t layer) { return (layer + 1) % pattern != 0; });
      break;
    }
    case WindowRule::kNopeLayers:
      mark([&](int64_t layer) {
        return model.layer_rope[static_cast<size_t>(layer)] == LayerRope::kNone;
      });
      break;
  }
  return is_sliding;
}

// Reads which layers the model does not rotate, from a list of 1 and 0 or from an interval.
Status read_nope_layers(const Json& config, ModelConfig& out) {
  constexpr std::string_view kKey = "no_rope_layers";
  const Json* rotates = find_field(config, kKey);
  if (rotates == nullptr) {
    ASSIGN_OR_RETURN(const int64_t interval, optional_int(config, "no_rope_layer_interval", 1,
                                                          INT_MAX, kNopeIntervalDefault));
    for (int64_t layer = 0; layer < out.layers; ++layer) {
      if ((layer + 1) % interval == 0) {
        out.layer_rope[static_cast<size_t>(layer)] = LayerRope::kNone;
      }
    }
    return {};
  }
  if (!rotates->is_array() || rotates->size() < out.layer_rope.size()) {
    return invalid_argument(std::string(kKey), "must be a list of at least num_hidden_layers (" +
                                                   std::to_string(out.layers) + ") numbers");
  }
  for (size_t layer = 0; layer < out.layer_rope.size(); ++layer) {
    const Json& value = (*rotates)[layer];
    if (value != 0 && value != 1) {
      return invalid_argument(std::string(kKey), "must contain 0 (no RoPE) and 1 only");
    }
    if (value == 0) out.layer_rope[layer] = LayerRope::kNone;
  }
  return {};
}

// Reads whether the layers of Granite 4 rotate.
Status read_granite4_rotation(const Json& config, ModelConfig& out) {
  constexpr std::string_view kPosition = "position_embedding_type";
  ASSIGN_OR_RETURN(const std::string position, optional_string(config, kPosition, "nope"));
  if (position == "rope") return {};
  out.layer_rope.assign(out.layer_rope.size(), LayerRope::kNone);
  if (position == "nope") return {};
  return unsupported(std::string(kPosition),
                     quote_text(position) + " is not supported (supported: rope, nope)");
}

// The RoPE parameters of one type of layers, as a configuration of their own. Files of transformers
// 5 may nest them by type; null if this file does not.
Json rope_of_type(const Json& config, std::string_view type) {
  const Json* parameters = find_field(config, "rope_parameters");
  if (parameters == nullptr) return {};
  const Json* nested = find_field(*parameters, type);
  if (nested == nullptr) return {};
  return {{"rope_parameters", *nested}};
}

// `config` with the share of each head that the family rotates, if the file does not say it.
Json with_rotary_share(const Json& config, const ModelFamily& family) {
  constexpr std::string_view kKey = "partial_rotary_factor";
  if (family.rotary_share == 1 || find_field(config, kKey) != nullptr) return config;
  for (const char* inner : {"rope_parameters", "rope_scaling"}) {
    const Json* rope = find_field(config, inner);
    if (rope != nullptr && find_field(*rope, kKey) != nullptr) return config;
  }
  Json whole = config;
  whole[std::string(kKey)] = family.rotary_share;
  return whole;
}

// Reads by how much the queries at later positions are multiplied (Llama 4).
Status read_query_scale(const Json& config, ModelConfig& out) {
  constexpr std::string_view kBeta = "llama_4_scaling_beta";
  constexpr std::string_view kOriginal = "original_max_position_embeddings";
  const Json* parameters = find_field(config, "rope_parameters");
  if (parameters == nullptr) parameters = find_field(config, "rope_scaling");
  const Json& rope = parameters != nullptr ? *parameters : config;
  ASSIGN_OR_RETURN(const double beta, optional_number(rope, kBeta, 0, kQueryBetaMax, 0));
  if (beta == 0) return {};
  ASSIGN_OR_RETURN(out.query_scale_context, required_int(rope, kOriginal, 1, INT_MAX));
  out.query_scale_beta = static_cast<float>(beta);
  return {};
}

}  // namespace

Result<std::vector<std::string>> read_layer_types(const Json& types, int layers) {
  if (!types.is_array() || types.size() != static_cast<size_t>(layers)) {
    return invalid_argument("layer_types", "must be a list of num_hidden_layers (" +
                                               std::to_string(layers) + ") strings");
  }
  std::vector<std::string> names;
  for (const Json& type : types) {
    if (!type.is_string()) return invalid_argument("layer_types", "must contain strings only");
    names.push_back(type.get<std::string>());
  }
  return names;
}

Status read_layers(const Json& config, const ModelFamily& family, ModelConfig& out) {
  const auto layers = static_cast<size_t>(out.layers);
  out.window.assign(layers, 0);
  out.layer_rope.assign(layers, LayerRope::kMain);
  if (family.has_nope_layers) RETURN_IF_ERROR(read_nope_layers(config, out));
  if (family.mixture == MixtureRule::kGranite4) {
    RETURN_IF_ERROR(read_granite4_rotation(config, out));
  }
  if (family.windows == WindowRule::kNone) return {};
  ASSIGN_OR_RETURN(const int window, sliding_window(config, family));
  const Json* types = find_field(config, "layer_types");
  ASSIGN_OR_RETURN(out.window, types != nullptr ? layers_by_type(*types, out.layers)
                                                : layers_by_rule(config, family, out));
  const bool any = std::ranges::count(out.window, 1) != 0;
  if (types != nullptr && any && window == 0) {
    return invalid_argument("layer_types", "has sliding_attention, but sliding_window is off");
  }
  for (size_t layer = 0; layer < layers; ++layer) {
    if (family.window_rope != WindowRope::kShared && out.window[layer] == 1) {
      out.layer_rope[layer] = LayerRope::kLocal;
    }
    out.window[layer] *= window;
  }
  return {};
}

Status read_ropes(const Json& config, const ModelFamily& family, ModelConfig& out) {
  if (family.has_query_scale) RETURN_IF_ERROR(read_query_scale(config, out));
  const bool by_type = family.window_rope != WindowRope::kShared;
  const Json nested = by_type ? rope_of_type(config, kFull) : Json();
  ASSIGN_OR_RETURN(out.rope,
                   parse_rope_config(nested.is_null() ? with_rotary_share(config, family) : nested,
                                     out.context_tokens_max));
  if (std::ranges::count(out.layer_rope, LayerRope::kLocal) == 0) return {};
  Json local = rope_of_type(config, kSliding);
  const bool is_nested = !local.is_null();
  if (!is_nested && family.window_rope == WindowRope::kUnscaled) {
    local["rope_theta"] = out.rope.theta;
  } else if (!is_nested) {
    // These layers do not share the other layers' scaling: they have plain RoPE with their own
    // base.
    const Json* theta = find_field(config, "rope_local_base_freq");
    local["rope_theta"] = theta != nullptr ? *theta : Json(kLocalThetaDefault);
  }
  Result<RopeConfig> rope = parse_rope_config(local, out.context_tokens_max);
  if (!rope.ok()) {
    Error error = std::move(rope).error();
    if (!is_nested && error.field == "rope_theta") error.field = "rope_local_base_freq";
    return error;
  }
  out.local_rope = std::move(rope).value();
  if (out.local_rope.rotary_share == out.rope.rotary_share) return {};
  return unsupported("partial_rotary_factor", "must be the same for all types of layers");
}

}  // namespace cascade
