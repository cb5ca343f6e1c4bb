// The checked contents of config.json and generation_config.json, in the terms of the forward pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade {

enum class RopeScaling { kNone, kLinear, kLlama3, kYarn, kLongRope, kProportional };

// Rotary position embedding. All numbers in f64: the angles are computed in f64 and rounded once.
struct RopeConfig {
  double theta = 0;  // base of the geometric series of frequencies
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1;            // linear, llama3, yarn, proportional
  double low_freq_factor = 1;   // llama3
  double high_freq_factor = 4;  // llama3
  double original_context = 0;  // llama3, yarn: positions of the original training
  double beta_fast = 32;        // yarn
  double beta_slow = 1;         // yarn
  bool truncate = true;         // yarn: round the correction range to whole dimensions
  double attention_factor = 1;  // yarn, longrope: multiplies cos and sin
  // longrope: a divisor for each pair of dimensions. The file has two lists; one of them is chosen
  // when the file is read.
  std::vector<float> divisors;
  double rotary_share = 1;  // the share of a head's dimensions that is rotated: the first ones
  // proportional: the share of a head's pairs whose frequency is not 0. Pairs are those of the
  // whole head.
  double moving_share = 1;

  // How many of a head's dimensions are rotated.
  int rotary_dim(int head_dim) const;
  bool operator==(const RopeConfig&) const = default;
};

enum class Activation : uint8_t { kSilu, kGeluTanh, kClampedSwiglu };

// RMSNorm of queries and keys before RoPE: of each head (qwen3, gemma3), or of all heads as one row
// (olmo2).
enum class QkNorm : uint8_t { kNone, kHead, kWhole };

// The angles by which a layer rotates its queries and keys.
enum class LayerRope : uint8_t { kNone, kMain, kLocal };

// How a router turns its logits into scores; the scores of the chosen experts are their weights.
enum class RouterScore : uint8_t { kSoftmax, kSigmoid };

// How the tensors of experts are named (model/layer_weights.cc).
enum class ExpertNames : uint8_t {
  kMlp,
  kQwen2,
  kBlockSparse,
  kGranite,
  kJoined,
  kBesideMlp,
  kLfm2,
};

// How the tensors of layers are named (model/layer_weights.cc).
enum class LayerNames : uint8_t { kUsual, kLfm2 };

// Layers whose MLP is a mixture of experts: a router chooses a few of them for each token
// (model/expert_choice.h).
struct MixtureConfig {
  std::vector<bool> layers;          // [layers]: which ones are mixtures; empty: none is
  int experts = 0;                   // of a layer
  int chosen = 0;                    // for each token
  int intermediate_size = 0;         // of an expert
  int shared_intermediate_size = 0;  // of the expert that every token uses; 0: there is none
  // The weight of that expert is the sigmoid of one more logit; otherwise it is 1.
  bool shared_gate = false;
  RouterScore score = RouterScore::kSoftmax;
  bool router_bias = false;  // a bias of the logits
  bool expert_bias = false;  // biases of an expert's projections
  bool choice_bias = false;  // a bias of the scores that affects the choice, but no weight
  // Experts are divided into groups of neighbours. They are chosen from the best groups only.
  int groups = 1;
  int chosen_groups = 1;
  bool normalizes = false;  // the weights of a token are divided by their sum
  float sum_offset = 0;     // what is added to that sum
  float scale = 1;          // of all weights
  // The layers also have an MLP of their own, whose outputs are added to those of the experts, and
  // the router has a norm of its own (Gemma 4).
  bool beside_mlp = false;
  ExpertNames names = ExpertNames::kMlp;

  bool is_mixture(int layer) const { return !layers.empty() && layers[static_cast<size_t>(layer)]; }
  bool has_shared() const { return shared_intermediate_size > 0; }
  // How many experts a layer has, and how many of them a token uses, with the shared one.
  int all_experts() const { return experts + (has_shared() ? 1 : 0); }
  int all_chosen() const { return chosen + (has_shared() ? 1 : 0); }
  bool operator==(const MixtureConfig&) const = default;
};

// The recurrence of layers that have a state in place of K and V.
enum class Recurrence : uint8_t {
  kConvolution,  // a gated short convolution (LFM2)
  kDeltaNet,     // the gated delta rule (Qwen3-Next, Qwen3.5)
  kMamba,        // the state space model of Mamba-2 (Granite 4)
};

// A scan takes a tile of a recurrent state at a time. Its rows lie together, so that those of 128
// keys fit the nearest cache: rows that are a power of two apart would share few places of it.
inline constexpr int kStateColumns = 32;
// The most tokens that a convolution sees: several times those of published models.
inline constexpr int kConvolutionTapsMax = 16;
inline constexpr size_t kCacheLineFloats = 16;

// Layers with a state of constant size for each sequence (model/recurrent_pass.h). The state of a
// layer is the last inputs of its convolution and, unless the convolution is all, a matrix for each
// value head.
struct RecurrentConfig {
  std::vector<bool> layers;  // [layers]: which ones are recurrent; empty: none is
  Recurrence kind = Recurrence::kConvolution;
  int taps = 0;                   // the tokens that the convolution sees, with its own
  int channels = 0;               // of the convolution
  bool convolution_bias = false;  // a bias of the convolution
  bool projection_bias = false;   // biases of the projections before and after
  // Heads of keys and queries (B and C of Mamba), and of values; 0 of both with kConvolution. Each
  // key head serves value_heads / key_heads value heads.
  int key_heads = 0;
  int value_heads = 0;
  int key_dim = 0;    // of a head
  int value_dim = 0;  // of a head
  // The value heads of a key head: neighbours, or every key_heads-th one.
  bool tiled_heads = false;
  // Files have the rates of decay, -exp(A_log), in place of A_log.
  bool has_rates = false;
  // kMamba: limits of the step sizes.
  float step_min = 0;
  float step_max = std::numeric_limits<float>::infinity();

  bool is_recurrent(int layer) const {
    return !layers.empty() && layers[static_cast<size_t>(layer)];
  }
  // The key head of a value head.
  int key_head(int value_head) const {
    return tiled_heads ? value_head % key_heads : value_head / (value_heads / key_heads);
  }
  int key_channels() const { return key_heads * key_dim; }
  int value_channels() const { return value_heads * value_dim; }
  // The floats of the convolution's inputs in the state of a layer, [taps - 1, channels]. Then come
  // the matrices of the value heads, [key_dim, value_dim] each, in tiles of kStateColumns columns
  // or, for the last one, what is left. Both are whole cache lines.
  size_t input_floats() const;
  size_t layer_floats() const;
  // The floats of the state of a sequence, layer by layer; 0 if no layer is recurrent.
  size_t state_floats() const;
  // Where the state of `layer` begins.
  size_t layer_offset(int layer) const;

  bool operator==(const RecurrentConfig&) const = default;
};

// How a layer attends.
struct AttentionShape {
  int kv_heads = 0;  // divides query_heads; 0: the layer does not attend, it is recurrent
  int head_dim = 0;  // even
  // The number of the part of a page (cache/kv_view.h) that has its K and V.
  int kv_part = 0;
  bool writes_kv = true;      // it computes that part; otherwise an earlier layer does
  bool key_is_value = false;  // V comes from the projection of K
  bool operator==(const AttentionShape&) const = default;
};

// The most layers, and the widest MLP: several times those of the largest known models.
inline constexpr int64_t kDecoderLayersMax = 512;
inline constexpr int64_t kMlpSizeMax = 1'048'576;

// The longest context that is used, even if the model's own is longer: one message can have this
// many token ids (wire/limits.h).
inline constexpr int kContextServedMax = 1 << 22;

// The switches let one decoder cover all families (model/config_family.h).
struct ModelConfig {
  std::string model_type;      // a family's name
  int layers = 0;              // num_hidden_layers
  int hidden_size = 0;         // width of the residual stream
  int intermediate_size = 0;   // width of the gated MLP, in layers that have one
  int query_heads = 0;         // num_attention_heads
  int kv_heads = 0;            // num_key_value_heads; divides query_heads
  int head_dim = 0;            // even; need not be hidden_size / query_heads
  int vocab_size = 0;          // rows of the embedding (may exceed the tokenizer's ids)
  int context_tokens_max = 0;  // max_position_embeddings, at most kContextServedMax
  float rms_norm_eps = 0;
  Activation activation = Activation::kSilu;
  QkNorm qk_norm = QkNorm::kNone;
  bool input_norms = true;         // RMSNorm of the inputs of attention and MLP
  bool output_norms = false;       // RMSNorm of attention and MLP outputs, before the residual
  bool norms_add_one = false;      // norms multiply with 1 + weight
  bool value_norms = false;        // RMSNorm, without weights, of each head of V
  bool layer_scales = false;       // a learned factor of the residual stream after each layer
  bool qkv_bias = false;           // bias of q_proj, k_proj, v_proj (qwen2, attention_bias)
  bool output_bias = false;        // bias of o_proj (attention_bias)
  bool mlp_bias = false;           // bias of gate, up and down projections
  bool attention_gate = false;     // attention outputs are multiplied by the sigmoid of a gate
  bool attention_sinks = false;    // each query head has a learned logit in its softmax
  bool fused_projections = false;  // q, k, v are one tensor; gate and up are one
  bool tied_embeddings = false;    // the LM head is the embedding matrix
  float attention_scale = 0;       // factor of q.k
  // Queries at position p are multiplied by 1 + query_scale_beta * ln(1 + p / query_scale_context),
  // where the quotient is rounded down (Llama 4). 0: by nothing.
  float query_scale_beta = 0;
  int64_t query_scale_context = 0;
  float attention_soft_cap = 0;  // of the scaled scores; 0 = none
  float logit_soft_cap = 0;      // 0 = none
  float embedding_multiplier = 1;
  // The multiplier is rounded to the type that the embedding matrix has in the model's files, if
  // that is BF16 or F16.
  bool rounds_embedding_multiplier = false;
  float residual_multiplier = 1;  // of the outputs of attention and MLP
  float logit_multiplier = 1;
  MixtureConfig mixture;
  RecurrentConfig recurrent;
  LayerNames layer_names = LayerNames::kUsual;
  // If layers differ, their shapes [layers]; empty: all have kv_heads and head_dim above. Parts are
  // numbered in the order of the layers that write them.
  std::vector<AttentionShape> attention_shapes;
  // If layers differ, the widths of their MLPs [layers]; empty: all have intermediate_size.
  std::vector<int> intermediate_sizes;
  // The width of the embedding of a token that each layer has for itself (model/layer_inputs.h); 0:
  // there is none.
  int layer_input_size = 0;
  int layer_input_vocab = 0;  // rows of these embeddings, at least vocab_size
  // Layers after the last one, which only predict further tokens: they are not computed.
  int draft_layers = 0;
  RopeConfig rope;
  RopeConfig local_rope;              // of layers that are LayerRope::kLocal
  std::vector<LayerRope> layer_rope;  // [layers]
  bool is_text_part = false;          // of a multimodal checkpoint (model/text_part.h)
  std::vector<int> window;  // [layers]: a token sees itself and window-1 tokens before; 0 = all

  AttentionShape attention_shape(int layer) const;
  // The last layer that computes K and V or a recurrent state. After it, a pass computes only the
  // tokens whose outputs are wanted.
  int last_state_layer() const;
  // The largest of all layers.
  int kv_heads_max() const;
  int head_dim_max() const;
  // The number of dimensions that layers with `layer_rope` rotate.
  int rotary_dim(LayerRope layer_rope) const;
  // The width of a layer's MLP that is not a mixture.
  int mlp_size(int layer) const;
  // The channels of a layer's MLP that one token uses.
  int used_intermediate_size(int layer) const;
  // What the queries at `position` are multiplied by.
  float query_scale(int64_t position) const;

  bool operator==(const ModelConfig&) const = default;
};

// Reads both dialects (v4: rope_theta and rope_scaling; v5: rope_parameters); a file that has both
// must say the same in both. Multimodal wrappers, some recurrent models and some mixtures of
// experts are refused: the error says which of these a model_type is, if it is known. An absent
// sliding_window is 4,096 for mistral and gemma3, and for qwen2 and qwen3 if use_sliding_window is
// true, as in transformers; only null means none. Errors, each with the key as `field` and the file
// in the message: kInvalidArgument for a missing or ill-typed key, a value outside its limits
// (layers and heads <= 512, hidden_size <= 65,536, vocab_size <= 2^21, ...), no RoPE theta;
// kUnsupported for an unknown model_type, hidden_act or rope_type.
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
  // Sentences for a log: what the files ask for that cannot be done, and the consequence.
  std::vector<std::string> problems;
};

// `generation` is generation_config.json or null; `config` is config.json, whose eos_token_id and
// bos_token_id are used if `generation` does not have them. An end token beyond the vocabulary is
// left out, with a sentence in `problems`. Errors: kInvalidArgument with the key
// as field and the file that has it in the message.
Result<GenerationConfig> parse_generation_config(const Json& generation, const Json& config,
                                                 int vocab_size);

}  // namespace cascade
