// What config.json and generation_config.json say, checked, in the terms of the forward pass.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn };

// Rotary position embedding. All numbers in f64: the angles are computed in f64 and rounded once.
struct RopeConfig {
  double theta = 0;  // base of the geometric series of frequencies
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;            // linear, llama3, yarn
  double low_freq_factor = 1;   // llama3
  double high_freq_factor = 4;  // llama3
  double original_context = 0;  // llama3, yarn: positions of the original training
  double beta_fast = 32;        // yarn
  double beta_slow = 1;         // yarn
  bool truncate = true;         // yarn: round the correction range to whole dimensions
  double attention_factor = 1;  // yarn: multiplies cos and sin

  bool operator==(const RopeConfig&) const = default;
};

// One decoder covers qwen3, qwen2, llama and mistral by these switches.
struct ModelConfig {
  std::string model_type;      // "qwen3", "qwen2", "llama", "mistral"
  int layers = 0;              // num_hidden_layers
  int hidden_size = 0;         // width of the residual stream
  int intermediate_size = 0;   // width of the gated MLP
  int query_heads = 0;         // num_attention_heads
  int kv_heads = 0;            // num_key_value_heads; divides query_heads
  int head_dim = 0;            // even; need not be hidden_size / query_heads
  int vocab_size = 0;          // rows of the embedding (may exceed the tokenizer's ids)
  int context_tokens_max = 0;  // max_position_embeddings
  float rms_norm_eps = 0;
  bool qk_norm = false;          // RMSNorm of each query and key head before RoPE (qwen3)
  bool qkv_bias = false;         // bias of q_proj, k_proj, v_proj (qwen2, attention_bias)
  bool output_bias = false;      // bias of o_proj (attention_bias of llama and qwen3)
  bool mlp_bias = false;         // bias of gate, up and down projections
  bool tied_embeddings = false;  // the LM head is the embedding matrix
  RopeConfig rope;
  std::vector<int> window;  // [layers]: a token sees itself and window-1 tokens before; 0 = all

  bool operator==(const ModelConfig&) const = default;
};

// Reads both dialects (v4: rope_theta and rope_scaling; v5: rope_parameters); a file that has both
// must say the same in both. A multimodal wrapper is not accepted: its model_type is unknown.
// An absent sliding_window is 4,096 for mistral, as in transformers; only null means none.
// Errors, each with the key as `field` and the file in the message: kInvalidArgument for a missing
// or ill-typed key, a value outside its limits (layers and heads <= 512, hidden_size <= 65,536,
// vocab_size <= 2^21, ...), no RoPE theta; kUnsupported for an unknown model_type, hidden_act or
// rope_type.
Result<ModelConfig> parse_model_config(const Json& config);

// Defaults that the model's authors chose; a request's own parameters override them.
struct GenerationConfig {
  std::vector<int32_t> end_tokens;  // any of these ends a generation; may be empty
  std::optional<int32_t> begin_token;
  bool do_sample = false;
  double temperature = 1;  // as given; used only if do_sample
  double top_p = 1;
  int top_k = 50;  // the Hugging Face default; 0 = off
  double min_p = 0;
  double repetition_penalty = 1;
};

// `generation` is generation_config.json or null; `config` is config.json, whose eos_token_id is
// used where the former has none. Errors: kInvalidArgument with the key as field and the file that
// has it in the message.
Result<GenerationConfig> parse_generation_config(const Json& generation, const Json& config,
                                                 int vocab_size);

}  // namespace cascade
