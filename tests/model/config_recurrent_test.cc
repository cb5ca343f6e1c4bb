// Descriptions of recurrent layers in config.json are read as transformers reads them.
#include "model/config_recurrent.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "tests/model/recurrent_config_testing.h"

namespace cascade::testing {
namespace {

using RecurrentLayers = std::vector<bool>;
using HybridShapes = std::vector<AttentionShape>;
using HybridRopes = std::vector<LayerRope>;

constexpr AttentionShape kNoAttention = {0, 0, 0, false};

TEST(RecurrentConfig, of_qwen_is_the_delta_net_with_the_defaults_of_transformers) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    const RecurrentConfig expected = {.layers = {true, true, false},
                                      .kind = Recurrence::kDeltaNet,
                                      .taps = 4,
                                      .channels = 2 * 16 * 128 + 32 * 128,
                                      .key_heads = 16,
                                      .value_heads = 32,
                                      .key_dim = 128,
                                      .value_dim = 128};
    EXPECT_EQ(parsed_config(hybrid_config(type)).recurrent, expected) << type;
    Json config = hybrid_config(type);
    config.update({{"linear_conv_kernel_dim", 2},
                   {"linear_key_head_dim", 16},
                   {"linear_value_head_dim", 24},
                   {"linear_num_key_heads", 2},
                   {"linear_num_value_heads", 6}});
    const RecurrentConfig other = {.layers = {true, true, false},
                                   .kind = Recurrence::kDeltaNet,
                                   .taps = 2,
                                   .channels = 2 * 32 + 144,
                                   .key_heads = 2,
                                   .value_heads = 6,
                                   .key_dim = 16,
                                   .value_dim = 24};
    EXPECT_EQ(parsed_config(config).recurrent, other) << type;
  }
}

TEST(RecurrentConfig, of_qwen_attends_with_gates_in_heads_that_rotate_in_part) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    SCOPED_TRACE(type);
    const Json json = hybrid_config(type);
    const ModelConfig config = parsed_config(json);
    EXPECT_TRUE(config.attention_gate && config.norms_add_one);
    EXPECT_FALSE(config.qkv_bias || config.output_bias || config.tied_embeddings);
    EXPECT_EQ(config.qk_norm, QkNorm::kHead);
    EXPECT_EQ(config.head_dim, 256);
    EXPECT_EQ(config.rope.rotary_share, 0.25);
    EXPECT_EQ(config.rotary_dim(LayerRope::kMain), 64);
    EXPECT_EQ(parsed_config(with(json, "attn_output_gate", true)), config);
    EXPECT_EQ(parsed_config(with(json, "head_dim", 64)).rotary_dim(LayerRope::kMain), 16);
    EXPECT_EQ(parsed_config(with(json, "partial_rotary_factor", 0.5)).rope.rotary_share, 0.5);
    EXPECT_TRUE(parsed_config(with(json, "attention_bias", true)).qkv_bias);
  }
}

TEST(RecurrentConfig, every_fourth_layer_of_qwen_attends_unless_the_file_says_otherwise) {
  for (const char* type : {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text"}) {
    Json json = without(hybrid_config(type), "layer_types");
    json["num_hidden_layers"] = 9;
    const auto layers = [](const Json& config) { return parsed_config(config).recurrent.layers; };
    const bool o = false;
    EXPECT_EQ(layers(json), (RecurrentLayers{1, 1, 1, o, 1, 1, 1, o, 1}));
    EXPECT_EQ(layers(with(json, "full_attention_interval", 3)),
              (RecurrentLayers{1, 1, o, 1, 1, o, 1, 1, o}));
    EXPECT_EQ(layers(with(json, "full_attention_interval", 9)),
              (RecurrentLayers{1, 1, 1, 1, 1, 1, 1, 1, o}));
    EXPECT_EQ(layers(with(json, "full_attention_interval", nullptr)), layers(json));
    EXPECT_EQ(layers(with(json, "full_attention_interval", 1)), RecurrentLayers());
    Json types(9, "linear_attention");
    types[0] = "full_attention";
    const Json both = with(with(json, "full_attention_interval", 3), "layer_types", types);
    EXPECT_EQ(layers(both), (RecurrentLayers{o, 1, 1, 1, 1, 1, 1, 1, 1})) << "the list counts";
  }
}

TEST(RecurrentConfig, of_lfm2_is_a_convolution_of_the_residual_stream) {
  for (const char* type : {"lfm2", "lfm2_moe"}) {
    const Json json = hybrid_config(type);
    RecurrentConfig expected = {
        .layers = {true, true, false}, .kind = Recurrence::kConvolution, .taps = 3, .channels = 64};
    const ModelConfig config = parsed_config(json);
    EXPECT_EQ(config.recurrent, expected) << type;
    EXPECT_EQ(config.layer_names, LayerNames::kLfm2);
    EXPECT_EQ(config.qk_norm, QkNorm::kHead);
    EXPECT_EQ(config.activation, Activation::kSilu);
    EXPECT_FALSE(config.attention_gate || config.norms_add_one || config.mlp_bias);
    expected.taps = 1;
    expected.convolution_bias = expected.projection_bias = true;
    EXPECT_EQ(parsed_config(with(with(json, "conv_L_cache", 1), "conv_bias", true)).recurrent,
              expected);
    EXPECT_EQ(parsed_config(without(json, "hidden_act")), config);
    EXPECT_EQ(parsed_config(with(json, "hidden_act", "gelu")), config) << "no key of LFM2";
  }
}

TEST(RecurrentConfig, of_lfm2_lets_the_layers_of_a_list_attend) {
  Json json = without(hybrid_config("lfm2"), "layer_types");
  json["num_hidden_layers"] = 5;
  const bool o = false;
  EXPECT_EQ(parsed_config(with(json, "full_attn_idxs", {1, 4})).recurrent.layers,
            (RecurrentLayers{1, o, 1, 1, o}));
  EXPECT_EQ(parsed_config(with(json, "full_attn_idxs", {3, 0, 3})).recurrent.layers,
            (RecurrentLayers{o, 1, 1, o, 1}));
  const Json types = {"full_attention", "conv", "conv", "conv", "conv"};
  EXPECT_EQ(
      parsed_config(with(with(json, "full_attn_idxs", {1}), "layer_types", types)).recurrent.layers,
      (RecurrentLayers{o, 1, 1, 1, 1}));
  // As in transformers, all layers attend if nothing is said.
  const ModelConfig plain = parsed_config(json);
  EXPECT_EQ(plain.recurrent, RecurrentConfig());
  EXPECT_EQ(plain.layer_names, LayerNames::kLfm2);
  EXPECT_TRUE(plain.attention_shapes.empty());
  EXPECT_EQ(plain.layer_rope, HybridRopes(5, LayerRope::kMain));
}

TEST(RecurrentConfig, of_lfm2_has_names_of_its_own_for_usual_keys) {
  for (const char* type : {"lfm2", "lfm2_moe"}) {
    Json json = without(without(hybrid_config(type), "rms_norm_eps"), "rope_theta");
    ModelConfig config = parsed_config(json);
    EXPECT_EQ(config.rms_norm_eps, 1e-5f);
    EXPECT_TRUE(config.tied_embeddings);
    EXPECT_EQ(config.rope.theta, 1e6);
    json["norm_eps"] = 1e-3;
    json["tie_embedding"] = false;
    json["tie_word_embeddings"] = true;
    config = parsed_config(json);
    EXPECT_EQ(config.rms_norm_eps, 1e-3f);
    EXPECT_FALSE(config.tied_embeddings) << "tie_embedding counts";
    EXPECT_EQ(parsed_config(with(json, "tie_embedding", nullptr)).tied_embeddings, true);
    EXPECT_EQ(parsed_config(with(json, "rope_theta", 5e5)).rope.theta, 5e5);
    const Json rope = {{"rope_theta", 3e5}, {"rope_type", "default"}};
    EXPECT_EQ(parsed_config(with(json, "rope_parameters", rope)).rope.theta, 3e5);
  }
  const Json named = with(hybrid_config("lfm2"), "theta", 2e5);
  EXPECT_EQ(parsed_config(named).rope.theta, 2e5);
}

TEST(RecurrentConfig, of_lfm2_makes_the_widths_of_its_mlps_of_three_numbers) {
  const Json json = with(hybrid_config("lfm2"), "intermediate_size", 6656);
  const auto width = [](const Json& config) { return parsed_config(config).intermediate_size; };
  EXPECT_EQ(width(json), 4608) << "4437 as whole steps of 256";
  EXPECT_EQ(width(with(json, "block_ff_dim", 12288)), 8192);
  EXPECT_EQ(width(with(json, "block_ff_dim", nullptr)), 4608);
  EXPECT_EQ(width(with(json, "block_multiple_of", 8)), 4440);
  EXPECT_EQ(width(with(json, "block_ffn_dim_multiplier", 0.5)), 2304) << "2218 in steps";
  EXPECT_EQ(width(with(json, "block_auto_adjust_ff_dim", false)), 6656);
  // In a mixture, the width is what the file says.
  const Json mixture = with(hybrid_config("lfm2_moe"), "intermediate_size", 6656);
  EXPECT_EQ(width(mixture), 6656);
  EXPECT_EQ(width(with(mixture, "block_ff_dim", 12288)), 6656);
}

TEST(RecurrentConfig, of_granite_is_mamba_with_the_defaults_of_transformers) {
  Json json = without(hybrid_config("granitemoehybrid"), "mamba_n_heads");
  json["hidden_size"] = 512;
  json.erase("mamba_d_state");
  const RecurrentConfig expected = {.layers = {true, true, false},
                                    .kind = Recurrence::kMamba,
                                    .taps = 4,
                                    .channels = 1024 + 2 * 256,
                                    .convolution_bias = true,
                                    .key_heads = 1,
                                    .value_heads = 128,
                                    .key_dim = 256,
                                    .value_dim = 8};
  EXPECT_EQ(parsed_config(json).recurrent, expected);
  EXPECT_EQ(parsed_config(with(json, "mamba_d_head", "auto")).recurrent, expected);
  EXPECT_EQ(parsed_config(with(json, "mamba_d_head", 8)).recurrent, expected);
  const RecurrentConfig& parsed = parsed_config(json).recurrent;
  EXPECT_EQ(parsed.step_min, 0);
  EXPECT_EQ(parsed.step_max, std::numeric_limits<float>::infinity());
}

TEST(RecurrentConfig, of_granite_has_the_sizes_that_the_file_says) {
  Json json = hybrid_config("granitemoehybrid");
  json.update({{"mamba_d_conv", 3},
               {"mamba_d_state", 24},
               {"mamba_n_groups", 2},
               {"mamba_n_heads", 8},
               {"mamba_expand", 3},
               {"mamba_d_head", 24},
               {"mamba_conv_bias", false},
               {"mamba_proj_bias", true},
               {"time_step_limit", {0.25, 2}}});
  const RecurrentConfig expected = {.layers = {true, true, false},
                                    .kind = Recurrence::kMamba,
                                    .taps = 3,
                                    .channels = 192 + 2 * 48,
                                    .projection_bias = true,
                                    .key_heads = 2,
                                    .value_heads = 8,
                                    .key_dim = 24,
                                    .value_dim = 24,
                                    .step_min = 0.25f,
                                    .step_max = 2};
  EXPECT_EQ(parsed_config(json).recurrent, expected);
}

TEST(RecurrentConfig, of_granite_may_have_infinity_as_a_limit_of_steps) {
  const Json json = hybrid_config("granitemoehybrid");
  const Json infinity = {{"__float__", "Infinity"}};
  const ModelConfig unlimited = parsed_config(json);
  for (const Json& limits : {Json(nullptr), Json::array({0.0, infinity})}) {
    EXPECT_EQ(parsed_config(with(json, "time_step_limit", limits)), unlimited);
  }
  const Json limits = Json::array({0.5, infinity});
  EXPECT_EQ(parsed_config(with(json, "time_step_limit", limits)).recurrent.step_min, 0.5f);
  const Json equal = {1, 1};
  EXPECT_EQ(parsed_config(with(json, "time_step_limit", equal)).recurrent.step_max, 1);
}

TEST(RecurrentConfig, of_granite_has_two_names_of_keys_and_of_types) {
  const Json json = hybrid_config("granitemoehybrid");
  const ModelConfig config = parsed_config(json);
  const Json older = {"mamba", "mamba", "attention"};
  EXPECT_EQ(parsed_config(with(json, "layer_types", older)), config);
  EXPECT_EQ(parsed_config(with(without(json, "layer_types"), "layers_block_type", older)), config);
  EXPECT_EQ(parsed_config(with(json, "layers_block_type", Json(3, "attention"))), config);
  // Without experts, and with rotation in the layers that attend.
  Json dense = with(with(json, "num_local_experts", 0), "shared_intermediate_size", 40);
  dense["position_embedding_type"] = "rope";
  const ModelConfig rotating = parsed_config(dense);
  EXPECT_EQ(rotating.recurrent, config.recurrent);
  EXPECT_EQ(rotating.intermediate_size, 40);
  EXPECT_EQ(rotating.layer_rope,
            (HybridRopes{LayerRope::kNone, LayerRope::kNone, LayerRope::kMain}));
  EXPECT_EQ(config.layer_rope, HybridRopes(3, LayerRope::kNone));
}

// Four layers, the first and the third of which attend.
Json uneven_config(const char* type, const char* recurrent) {
  Json json = with(hybrid_config(type), "num_hidden_layers", 4);
  json["num_key_value_heads"] = 2;
  json["head_dim"] = 16;
  json["layer_types"] = {"full_attention", recurrent, "full_attention", recurrent};
  return json;
}

TEST(RecurrentConfig, layers_that_attend_have_parts_and_others_neither_heads_nor_rotation) {
  for (const auto& [type, recurrent] : {std::pair("qwen3_next", "linear_attention"),
                                        {"qwen3_5_text", "linear_attention"},
                                        {"qwen3_5_moe_text", "linear_attention"},
                                        {"lfm2", "conv"},
                                        {"lfm2_moe", "conv"},
                                        {"granitemoehybrid", "mamba"}}) {
    SCOPED_TRACE(type);
    Json json = uneven_config(type, recurrent);
    json["position_embedding_type"] = "rope";
    const ModelConfig config = parsed_config(json);
    EXPECT_EQ(config.attention_shapes,
              (HybridShapes{{2, 16, 0}, kNoAttention, {2, 16, 1}, kNoAttention}));
    EXPECT_EQ(config.layer_rope, (HybridRopes{LayerRope::kMain, LayerRope::kNone, LayerRope::kMain,
                                              LayerRope::kNone}));
    EXPECT_EQ(config.window, Windows(4, 0));
    EXPECT_EQ(config.last_state_layer(), 3) << "it has a state, but no K and V";
    EXPECT_EQ(config.kv_heads_max(), 2);
    EXPECT_EQ(config.head_dim_max(), 16);
    EXPECT_FALSE(config.recurrent.is_recurrent(0) || config.recurrent.is_recurrent(2));
    EXPECT_TRUE(config.recurrent.is_recurrent(1) && config.recurrent.is_recurrent(3));
  }
}

TEST(RecurrentConfig, models_whose_layers_all_attend_have_no_state) {
  for (const char* type :
       {"qwen3_next", "qwen3_5_text", "qwen3_5_moe_text", "lfm2", "lfm2_moe", "granitemoehybrid"}) {
    const ModelConfig config =
        parsed_config(with(hybrid_config(type), "layer_types", Json(3, "full_attention")));
    EXPECT_EQ(config.recurrent, RecurrentConfig()) << type;
    EXPECT_EQ(config.recurrent.state_floats(), 0u);
    EXPECT_EQ(config.recurrent.layer_floats(), 0u);
    EXPECT_FALSE(config.recurrent.is_recurrent(0));
    EXPECT_TRUE(config.attention_shapes.empty());
    EXPECT_EQ(config.last_state_layer(), 2);
  }
}

TEST(RecurrentConfig, states_of_layers_follow_each_other_in_whole_cache_lines) {
  RecurrentConfig config = {.layers = {false, true, true, false, true},
                            .kind = Recurrence::kDeltaNet,
                            .taps = 4,
                            .channels = 24,
                            .key_heads = 1,
                            .value_heads = 3,
                            .key_dim = 8,
                            .value_dim = 8};
  EXPECT_EQ(config.input_floats(), 80u) << "72 in lines of 16";
  EXPECT_EQ(config.layer_floats(), 80u + 192u);
  EXPECT_EQ(config.state_floats(), 3 * 272u);
  EXPECT_EQ(config.layer_offset(1), 0u);
  EXPECT_EQ(config.layer_offset(2), 272u);
  EXPECT_EQ(config.layer_offset(4), 2 * 272u);
  config.taps = 1;
  EXPECT_EQ(config.input_floats(), 0u);
  EXPECT_EQ(config.layer_floats(), 192u);
  config = {.layers = {true, false}, .taps = 3, .channels = 40};
  EXPECT_EQ(config.layer_floats(), 80u) << "a convolution has no matrices";
  EXPECT_EQ(config.state_floats(), 80u);
}

TEST(RecurrentConfig, the_largest_sizes_make_numbers_that_fit) {
  const RecurrentConfig config = {.layers = RecurrentLayers(512, true),
                                  .kind = Recurrence::kMamba,
                                  .taps = 16,
                                  .channels = 3 * 512 * 512,
                                  .key_heads = 512,
                                  .value_heads = 512,
                                  .key_dim = 512,
                                  .value_dim = 512};
  const size_t floats = size_t{15} * 3 * 512 * 512 + size_t{512} * 512 * 512;
  EXPECT_EQ(config.layer_floats(), floats);
  EXPECT_EQ(config.state_floats(), 512 * floats);
  EXPECT_EQ(config.layer_offset(511), 511 * floats);
}

// The keys of LiquidAI/LFM2-1.2B that matter, and some that do not.
TEST(RecurrentConfig, of_a_published_lfm2_is_read) {
  const Json json = {{"model_type", "lfm2"},
                     {"block_auto_adjust_ff_dim", true},
                     {"block_dim", 2048},
                     {"block_ff_dim", 12288},
                     {"block_ffn_dim_multiplier", 1.0},
                     {"block_multiple_of", 256},
                     {"block_norm_eps", 1e-5},
                     {"conv_L_cache", 3},
                     {"conv_bias", false},
                     {"conv_dim", 2048},
                     {"full_attn_idxs", {2, 5, 8, 10, 12, 14}},
                     {"hidden_size", 2048},
                     {"max_position_embeddings", 128'000},
                     {"norm_eps", 1e-5},
                     {"num_attention_heads", 32},
                     {"num_hidden_layers", 16},
                     {"num_key_value_heads", 8},
                     {"rope_theta", 1e6},
                     {"theta", 1e6},
                     {"vocab_size", 65'536}};
  const ModelConfig config = parsed_config(json);
  EXPECT_EQ(config.intermediate_size, 8192);
  EXPECT_EQ(config.head_dim, 64);
  EXPECT_EQ(config.attention_shape(14), (AttentionShape{8, 64, 5}));
  EXPECT_EQ(config.attention_shape(15), kNoAttention);
  EXPECT_EQ(config.recurrent.state_floats(), 10 * size_t{4096});
  EXPECT_EQ(config.recurrent.layer_offset(15), 9 * size_t{4096});
  EXPECT_EQ(config.last_state_layer(), 15);
}

// Those of Qwen/Qwen3-Next-80B-A3B-Instruct.
TEST(RecurrentConfig, of_a_published_qwen3_next_is_read) {
  const Json json = {{"model_type", "qwen3_next"},
                     {"attention_bias", false},
                     {"decoder_sparse_step", 1},
                     {"full_attention_interval", 4},
                     {"head_dim", 256},
                     {"hidden_act", "silu"},
                     {"hidden_size", 2048},
                     {"intermediate_size", 5120},
                     {"linear_conv_kernel_dim", 4},
                     {"linear_key_head_dim", 128},
                     {"linear_num_key_heads", 16},
                     {"linear_num_value_heads", 32},
                     {"linear_value_head_dim", 128},
                     {"max_position_embeddings", 262'144},
                     {"mlp_only_layers", Json::array()},
                     {"moe_intermediate_size", 512},
                     {"norm_topk_prob", true},
                     {"num_attention_heads", 16},
                     {"num_experts", 512},
                     {"num_experts_per_tok", 10},
                     {"num_hidden_layers", 48},
                     {"num_key_value_heads", 2},
                     {"partial_rotary_factor", 0.25},
                     {"rms_norm_eps", 1e-6},
                     {"rope_scaling", nullptr},
                     {"rope_theta", 10'000'000},
                     {"shared_expert_intermediate_size", 512},
                     {"tie_word_embeddings", false},
                     {"vocab_size", 151'936}};
  const ModelConfig config = parsed_config(json);
  EXPECT_EQ(config.recurrent.channels, 8192);
  EXPECT_EQ(config.recurrent.layer_floats(), size_t{3} * 8192 + size_t{32} * 128 * 128);
  EXPECT_EQ(config.recurrent.state_floats(), 36 * config.recurrent.layer_floats());
  EXPECT_EQ(config.attention_shape(47), (AttentionShape{2, 256, 11}));
  EXPECT_EQ(config.rotary_dim(LayerRope::kMain), 64);
  EXPECT_EQ(config.mixture.all_experts(), 513);
}

TEST(RecurrentConfig, mixtures_of_hybrids_have_the_routers_of_their_families) {
  MixtureConfig expected = {.layers = {true, true, true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 24,
                            .shared_intermediate_size = 40,
                            .shared_gate = true,
                            .normalizes = true,
                            .names = ExpertNames::kQwen2};
  Json next = hybrid_config("qwen3_next");
  EXPECT_EQ(parsed_config(next).mixture, expected);
  EXPECT_FALSE(parsed_config(with(next, "norm_topk_prob", false)).mixture.normalizes);
  // Qwen3.5 has neither MLPs nor a choice in how weights are made.
  Json json = without(hybrid_config("qwen3_5_moe_text"), "intermediate_size");
  json["norm_topk_prob"] = false;
  json["mlp_only_layers"] = {1};
  json["decoder_sparse_step"] = 2;
  EXPECT_EQ(parsed_config(json).mixture, expected);
  next.update(json);
  next["model_type"] = "qwen3_next";
  next["intermediate_size"] = 160;
  expected.layers = {false, false, false};
  expected.normalizes = false;
  EXPECT_EQ(parsed_config(next).mixture, expected);
  EXPECT_TRUE(parsed_config(hybrid_config("qwen3_5_text")).mixture.layers.empty());
  EXPECT_TRUE(parsed_config(hybrid_config("lfm2")).mixture.layers.empty());
}

TEST(RecurrentConfig, mixtures_of_lfm2_have_sigmoid_scores_and_dense_layers_first) {
  Json json = hybrid_config("lfm2_moe");
  MixtureConfig expected = {.layers = {false, false, true},
                            .experts = 8,
                            .chosen = 2,
                            .intermediate_size = 24,
                            .score = RouterScore::kSigmoid,
                            .choice_bias = true,
                            .normalizes = true,
                            .sum_offset = 1e-6f,
                            .names = ExpertNames::kLfm2};
  EXPECT_EQ(parsed_config(json).mixture, expected);
  json.update({{"num_dense_layers", 0},
               {"use_expert_bias", false},
               {"norm_topk_prob", false},
               {"routed_scaling_factor", 1.5}});
  expected.layers = {true, true, true};
  expected.choice_bias = expected.normalizes = false;
  expected.scale = 1.5f;
  EXPECT_EQ(parsed_config(json).mixture, expected);
  EXPECT_EQ(parsed_config(with(json, "num_dense_layers", 1000)).mixture.layers,
            RecurrentLayers(3, false));
  expect_invalid_config(with(json, "num_dense_layers", -1), "num_dense_layers");
  expect_invalid_config(with(json, "use_expert_bias", 1), "use_expert_bias");
}

}  // namespace
}  // namespace cascade::testing
