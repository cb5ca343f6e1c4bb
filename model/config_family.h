// The differences between the families of models that do not depend on a configuration's file.
#pragma once

#include <span>
#include <string_view>

#include "base/result.h"
#include "model/config.h"

namespace cascade {

// Which layers have a sliding window, and which keys say so.
enum class WindowRule : uint8_t {
  kNone,
  kAllLayers,    // sliding_window
  kLaterLayers,  // use_sliding_window, from layer max_window_layers on
  kPattern,      // all but every sliding_window_pattern-th
  kNopeLayers,   // use_sliding_window: the layers that do not rotate
  kIfUsed,       // use_sliding_window: all layers
  kAlternating,  // sliding_window: the first layer, and every second one after it
  kEvenEarlier,  // use_sliding_window: the layers with even numbers before max_window_layers
};

// The RoPE of the layers that have a window.
enum class WindowRope : uint8_t {
  kShared,    // that of the other layers
  kOwnBase,   // plain, by a key of its own
  kUnscaled,  // plain, with the base of the other layers
};

enum class BiasRule : uint8_t {
  kNone,
  kQkv,          // bias of q, k and v, always
  kByKey,        // bias of q, k, v and output if attention_bias says so
  kQkvByKey,     // bias of q, k and v if attention_bias says so
  kQkvByOwnKey,  // bias of q, k and v unless qkv_bias says otherwise
};

// Which keys describe a mixture of experts (model/config_mixture.h).
enum class MixtureRule : uint8_t {
  kNone,
  kGemma4,
  kGlm,
  kGptOss,
  kGranite,
  kGraniteShared,
  kGranite4,
  kMixtral,
  kOlmoe,
  kQwen,
  kQwen2,
  kQwenNext,
  kQwen35,
  kLfm2,
};

// Which keys describe recurrent layers (model/config_recurrent.h).
enum class RecurrenceRule : uint8_t { kNone, kQwen, kGranite4, kLfm2 };

struct ModelFamily {
  std::string_view name;  // model_type
  BiasRule attention_bias = BiasRule::kNone;
  bool has_mlp_bias_key = false;
  bool biased_by_default = false;  // if the file does not have attention_bias
  WindowRule windows = WindowRule::kNone;
  int window_default = 0;  // used if the file does not have sliding_window; 0 = none
  int window_pattern = 0;  // kPattern: used if the file does not have sliding_window_pattern
  WindowRope window_rope = WindowRope::kShared;
  QkNorm qk_norm = QkNorm::kNone;
  bool input_norms = true;
  bool output_norms = false;
  bool fused_projections = false;
  bool tied_by_default = false;
  bool rotates_in_part = false;  // partial_rotary_factor counts
  double rotary_share = 1;       // if the file does not have partial_rotary_factor
  bool has_nope_layers = false;  // no_rope_layers, no_rope_layer_interval
  bool has_multipliers = false;  // granite's four
  bool has_qk_norm_key = false;  // use_qk_norm, absent: false
  bool attention_sinks = false;
  bool clamped_swiglu = false;   // whatever hidden_act says
  bool has_query_scale = false;  // llama_4_scaling_beta
  bool norms_add_one = false;
  bool attention_gate = false;
  MixtureRule mixture = MixtureRule::kNone;
  RecurrenceRule recurrence = RecurrenceRule::kNone;
  bool is_gemma = false;   // scaled embeddings, soft caps
  bool is_gemma4 = false;  // beside is_gemma: model/config_gemma4.h
};

// The family that a file's model_type names. Errors: kUnsupported, field `field`. The message says
// so if the name is that of a recurrent or multimodal architecture, or of another mixture of
// experts.
Result<const ModelFamily*> model_family(std::string_view model_type, std::string_view field);

// The kind of a known model that is not supported ("recurrent or a hybrid", ...); else empty. Takes
// names of config.json and of GGUF.
std::string_view unsupported_kind(std::string_view name);

}  // namespace cascade
