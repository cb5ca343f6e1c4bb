// What config.json says about the layers of Gemma 4.
#include "model/config_gemma4.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/config_testing.h"

namespace cascade::testing {
namespace {

// Four layers, the second and the last of full attention; no layer has inputs of its own.
Json gemma4_config() {
  return {{"model_type", "gemma4_text"},
          {"num_hidden_layers", 4},
          {"hidden_size", 64},
          {"intermediate_size", 160},
          {"num_attention_heads", 4},
          {"num_key_value_heads", 2},
          {"head_dim", 16},
          {"global_head_dim", 32},
          {"vocab_size", 2048},
          {"max_position_embeddings", 4096},
          {"rms_norm_eps", 1e-6},
          {"sliding_window", 40},
          {"hidden_size_per_layer_input", 0},
          {"layer_types",
           {"sliding_attention", "full_attention", "sliding_attention", "full_attention"}}};
}

using Shapes = std::vector<AttentionShape>;

TEST(Gemma4Config, full_layers_have_heads_of_another_size_and_ropes_differ) {
  const ModelConfig parsed = parsed_config(gemma4_config());
  const Shapes expected = {{2, 16, 0}, {2, 32, 1}, {2, 16, 2}, {2, 32, 3}};
  EXPECT_EQ(parsed.attention_shapes, expected);
  EXPECT_EQ(parsed.window, (Windows{40, 0, 40, 0}));
  EXPECT_EQ(parsed.rope.scaling, RopeScaling::kProportional);
  EXPECT_EQ(parsed.rope.moving_share, 0.25);
  EXPECT_EQ(parsed.rope.theta, 1e6);
  EXPECT_EQ(parsed.local_rope.theta, 1e4);
  EXPECT_EQ(parsed.rotary_dim(LayerRope::kMain), 32);
  EXPECT_EQ(parsed.rotary_dim(LayerRope::kLocal), 16);
  EXPECT_EQ(parsed.attention_scale, 1);
  EXPECT_EQ(parsed.embedding_multiplier, 8);
  EXPECT_FALSE(parsed.norms_add_one || parsed.rounds_embedding_multiplier);
  EXPECT_TRUE(parsed.value_norms && parsed.layer_scales && parsed.tied_embeddings);
  EXPECT_EQ(parsed.layer_input_size, 0);
  EXPECT_EQ(parsed.last_state_layer(), 3);
  EXPECT_EQ(parsed.head_dim_max(), 32);
}

TEST(Gemma4Config, keys_that_are_left_out_have_the_defaults_of_transformers) {
  Json config = gemma4_config();
  config["num_hidden_layers"] = 7;
  for (const char* key :
       {"layer_types", "sliding_window", "global_head_dim", "hidden_size_per_layer_input"}) {
    config.erase(key);
  }
  const ModelConfig parsed = parsed_config(config);
  EXPECT_EQ(parsed.window, (Windows{512, 512, 512, 512, 512, 0, 0})) << "the last layer is full";
  EXPECT_EQ(parsed.attention_shape(5).head_dim, 512);
  EXPECT_EQ(parsed.layer_input_size, 256);
  EXPECT_EQ(parsed.layer_input_vocab, 262'144);
}

TEST(Gemma4Config, the_last_layer_is_full_whatever_the_file_says) {
  Json config = gemma4_config();
  config["layer_types"][3] = "sliding_attention";
  EXPECT_EQ(parsed_config(config).window, (Windows{40, 0, 40, 0}));
}

TEST(Gemma4Config, single_layers_may_have_their_sizes_in_per_layer_config) {
  Json config = gemma4_config();
  config["per_layer_config"] = {{"1", {{"head_dim", 24}, {"num_key_value_heads", 1}}},
                                {"3", {{"head_dim", 24}, {"num_key_value_heads", 1}}}};
  const Shapes expected = {{2, 16, 0}, {1, 24, 1}, {2, 16, 2}, {1, 24, 3}};
  EXPECT_EQ(parsed_config(config).attention_shapes, expected);
  EXPECT_EQ(parsed_config(config).kv_heads_max(), 2);
}

TEST(Gemma4Config, the_last_layers_may_use_k_and_v_of_the_last_one_of_their_type) {
  Json config = gemma4_config();
  config["num_kv_shared_layers"] = 2;
  const Shapes expected = {{2, 16, 0}, {2, 32, 1}, {2, 16, 0, false}, {2, 32, 1, false}};
  ModelConfig parsed = parsed_config(config);
  EXPECT_EQ(parsed.attention_shapes, expected);
  EXPECT_EQ(parsed.last_state_layer(), 1);
  EXPECT_EQ(parsed.mlp_size(3), 160);
  config["use_double_wide_mlp"] = true;
  parsed = parsed_config(config);
  EXPECT_EQ(parsed.intermediate_sizes, (std::vector<int>{160, 160, 320, 320}));
  EXPECT_EQ(parsed.used_intermediate_size(2), 320);
}

TEST(Gemma4Config, full_layers_may_make_v_of_k_and_have_fewer_heads_then) {
  Json config = gemma4_config();
  config["num_global_key_value_heads"] = 1;
  EXPECT_EQ(parsed_config(config).attention_shape(1).kv_heads, 2) << "only with attention_k_eq_v";
  config["attention_k_eq_v"] = true;
  const ModelConfig parsed = parsed_config(config);
  EXPECT_EQ(parsed.attention_shape(0), (AttentionShape{2, 16, 0}));
  EXPECT_EQ(parsed.attention_shape(1), (AttentionShape{1, 32, 1, true, true}));
}

TEST(Gemma4Config, layers_may_have_inputs_of_their_own) {
  Json config = gemma4_config();
  config["hidden_size_per_layer_input"] = 24;
  config["vocab_size_per_layer_input"] = 2048;
  const ModelConfig parsed = parsed_config(config);
  EXPECT_EQ(parsed.layer_input_size, 24);
  EXPECT_EQ(parsed.layer_input_vocab, 2048);
}

TEST(Gemma4Config, mixtures_stand_beside_an_mlp) {
  Json config = gemma4_config();
  config["num_experts"] = 8;
  config["top_k_experts"] = 3;
  config["moe_intermediate_size"] = 24;
  EXPECT_TRUE(parsed_config(config).mixture.layers.empty()) << "only with enable_moe_block";
  config["enable_moe_block"] = true;
  const MixtureConfig expected = {.layers = {true, true, true, true},
                                  .experts = 8,
                                  .chosen = 3,
                                  .intermediate_size = 24,
                                  .normalizes = true,
                                  .beside_mlp = true,
                                  .names = ExpertNames::kBesideMlp};
  EXPECT_EQ(parsed_config(config).mixture, expected);
  EXPECT_EQ(parsed_config(config).used_intermediate_size(0), 160 + 3 * 24);
  expect_invalid_config(with(config, "top_k_experts", 9), "top_k_experts", "at most");
  expect_invalid_config(with(config, "num_experts", 0), "num_experts", "");
  expect_invalid_config(without(config, "top_k_experts"), "top_k_experts", "is missing");
  expect_invalid_config(with(config, "moe_intermediate_size", 12), "moe_intermediate_size", "8");
}

TEST(Gemma4Config, attention_may_look_ahead_within_images_only) {
  constexpr const char* kKey = "use_bidirectional_attention";
  EXPECT_EQ(parsed_config(with(gemma4_config(), kKey, "vision")), parsed_config(gemma4_config()));
  expect_config_error(with(gemma4_config(), kKey, "all"), ErrorCode::kUnsupported, kKey, "all");
}

TEST(Gemma4Config, each_bad_value_is_an_error_that_names_its_key) {
  struct Case {
    const char* key;
    Json value;
    const char* field;
    const char* message;
  };
  const Json wrong_width = {{"1", {{"head_dim", 12}}}};
  const Json wrong_heads = {{"1", {{"num_key_value_heads", 3}}}};
  const Json beyond = {{"4", {{"head_dim", 16}}}};
  const Json named = {{"one", {{"head_dim", 16}}}};
  const std::vector<Case> cases = {
      {"global_head_dim", 12, "global_head_dim", "multiple of 8"},
      {"global_head_dim", 520, "global_head_dim", "512"},
      {"per_layer_config", wrong_width, "head_dim", "multiple of 8"},
      {"per_layer_config", wrong_heads, "num_key_value_heads", "must divide"},
      {"per_layer_config", beyond, "per_layer_config", "from 0 to 3"},
      {"per_layer_config", named, "per_layer_config", "numbers of layers"},
      {"per_layer_config", 7, "per_layer_config", "must be an object"},
      {"per_layer_config", {{"1", 7}}, "per_layer_config", "objects"},
      {"num_kv_shared_layers", 4, "num_kv_shared_layers", "3"},
      {"num_kv_shared_layers", -1, "num_kv_shared_layers", ""},
      {"num_kv_shared_layers", 3, "num_kv_shared_layers", "none before layer 1 has its type"},
      {"hidden_size_per_layer_input", 12, "hidden_size_per_layer_input", "multiple of 8"},
      {"hidden_size_per_layer_input", 8200, "hidden_size_per_layer_input", "8192"},
      {"attention_k_eq_v", 1, "attention_k_eq_v", ""},
      {"layer_types", {"full_attention"}, "layer_types", "num_hidden_layers"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.key + bad.value.dump());
    expect_invalid_config(with(gemma4_config(), bad.key, bad.value), bad.field, bad.message);
  }
  Json config = with(gemma4_config(), "hidden_size_per_layer_input", 8);
  config["vocab_size_per_layer_input"] = 2047;
  expect_invalid_config(config, "vocab_size_per_layer_input", "2048");
}

TEST(Gemma4Config, layers_of_one_type_must_be_alike) {
  Json config = with(gemma4_config(), "per_layer_config", {{"1", {{"head_dim", 24}}}});
  expect_config_error(config, ErrorCode::kUnsupported, "per_layer_config", "layers 1 and 3");
  config["per_layer_config"] = {{"1", {{"sliding_window", 8}}}};
  expect_config_error(config, ErrorCode::kUnsupported, "per_layer_config", "sliding_window");
}

}  // namespace
}  // namespace cascade::testing
