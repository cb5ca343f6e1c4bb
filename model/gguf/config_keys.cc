// One table for all architectures.
#include "model/gguf/config_keys.h"

#include <algorithm>
#include <array>

namespace cascade {
namespace {

// The keys of one quantity: in config.json, and in the metadata after "ARCHITECTURE.".
struct ConfigKey {
  std::string_view config;
  std::string_view gguf;
};
constexpr std::array<ConfigKey, 47> kConfigKeys = {{
    {"num_hidden_layers", "block_count"},
    {"hidden_size", "embedding_length"},
    {"intermediate_size", "feed_forward_length"},
    {"max_position_embeddings", "context_length"},
    {"rms_norm_eps", "attention.layer_norm_rms_epsilon"},
    {"num_attention_heads", "attention.head_count"},
    {"num_key_value_heads", "attention.head_count_kv"},
    {"head_dim", "attention.key_length"},
    {"sliding_window", "attention.sliding_window"},
    {"rope_theta", "rope.freq_base"},
    {"factor", "rope.scaling.factor"},
    {"original_max_position_embeddings", "rope.scaling.original_context_length"},
    {"rope_type", "rope.scaling.type"},
    {"sliding_window_pattern", "attention.sliding_window_pattern"},
    {"layer_types", "attention.sliding_window_pattern"},
    {"rope_local_base_freq", "rope.freq_base_swa"},
    {"partial_rotary_factor", "rope.dimension_count"},
    {"attention_factor", "rope.scaling.attn_factor"},
    {"num_local_experts", "expert_count"},
    {"num_experts_per_tok", "expert_used_count"},
    {"moe_intermediate_size", "expert_feed_forward_length"},
    {"n_shared_experts", "expert_shared_count"},
    {"shared_expert_intermediate_size", "expert_shared_feed_forward_length"},
    {"shared_intermediate_size", "expert_shared_feed_forward_length"},
    {"first_k_dense_replace", "leading_dense_block_count"},
    {"n_group", "expert_group_count"},
    {"topk_group", "expert_group_used_count"},
    {"routed_scaling_factor", "expert_weights_scale"},
    {"num_nextn_predict_layers", "nextn_predict_layers"},
    {"per_layer_config", "attention.head_count_kv"},
    {"num_kv_shared_layers", "attention.shared_kv_layers"},
    {"hidden_size_per_layer_input", "embedding_length_per_layer_input"},
    {"vocab_size_per_layer_input", "embedding_length_per_layer_input"},
    {"top_k_experts", "expert_used_count"},
    {"linear_conv_kernel_dim", "ssm.conv_kernel"},
    {"linear_key_head_dim", "ssm.state_size"},
    {"linear_num_key_heads", "ssm.group_count"},
    {"linear_num_value_heads", "ssm.time_step_rank"},
    {"linear_value_head_dim", "ssm.inner_size"},
    {"mamba_d_conv", "ssm.conv_kernel"},
    {"mamba_d_head", "ssm.inner_size"},
    {"mamba_d_state", "ssm.state_size"},
    {"mamba_expand", "ssm.inner_size"},
    {"mamba_n_groups", "ssm.group_count"},
    {"mamba_n_heads", "ssm.time_step_rank"},
    {"conv_L_cache", "shortconv.l_cache"},
    {"num_dense_layers", "leading_dense_block_count"},
}};

}  // namespace

std::string_view gguf_config_key(std::string_view config_key) {
  const auto* found = std::ranges::find(kConfigKeys, config_key, &ConfigKey::config);
  return found == kConfigKeys.end() ? std::string_view() : found->gguf;
}

}  // namespace cascade
