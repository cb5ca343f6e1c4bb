// Tests of what the families' own keys of config.json mean, and of their limits.
#include "model/config_family.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/config_testing.h"

namespace cascade {
namespace {

using testing::expect_config_error;
using testing::expect_invalid_config;
using testing::minimal_config;
using testing::parsed_config;
using testing::Windows;
using testing::with;
using testing::without;

constexpr int kLayers = 7;

Json with_all(Json config, const Json& more) {
  config.update(more);
  return config;
}

constexpr LayerRope kNone = LayerRope::kNone;
constexpr LayerRope kMain = LayerRope::kMain;
constexpr LayerRope kLocal = LayerRope::kLocal;
using Ropes = std::vector<LayerRope>;

TEST(Granite, reads_its_multipliers) {
  const ModelConfig config = parsed_config(
      with_all(minimal_config("granite", kLayers), {{"attention_multiplier", 0.015625},
                                                    {"embedding_multiplier", 12},
                                                    {"residual_multiplier", 0.22},
                                                    {"logits_scaling", 8.0}}));
  EXPECT_EQ(config.attention_scale, 0.015625F);
  EXPECT_EQ(config.embedding_multiplier, 12.0F);
  EXPECT_FALSE(config.rounds_embedding_multiplier);
  EXPECT_EQ(config.residual_multiplier, 0.22F);
  EXPECT_EQ(config.logit_multiplier, 0.125F);
  // The defaults of transformers for keys that a file leaves out.
  const ModelConfig plain = parsed_config(minimal_config("granite", kLayers));
  EXPECT_EQ(plain.attention_scale, 1.0F);
  EXPECT_EQ(plain.embedding_multiplier, 1.0F);
  EXPECT_EQ(plain.residual_multiplier, 1.0F);
  EXPECT_EQ(plain.logit_multiplier, 1.0F);
  EXPECT_FALSE(plain.tied_embeddings);
  for (const char* key :
       {"attention_multiplier", "embedding_multiplier", "residual_multiplier", "logits_scaling"}) {
    for (const Json& bad : {Json(0), Json(-1), Json(1e-7), Json(1e7), Json("1"), Json(true)}) {
      expect_invalid_config(with_all(minimal_config("granite", kLayers), {{key, bad}}), key);
    }
    // Other families do not multiply.
    EXPECT_EQ(parsed_config(with_all(minimal_config("llama", kLayers), {{key, 3}})),
              parsed_config(minimal_config("llama", kLayers)));
  }
}

TEST(Smollm3, leaves_out_the_rotation_of_every_fourth_layer_or_of_those_listed) {
  const Json config = minimal_config("smollm3", kLayers);
  EXPECT_EQ(parsed_config(config).layer_rope,
            Ropes({kMain, kMain, kMain, kNone, kMain, kMain, kMain}));
  EXPECT_TRUE(parsed_config(config).tied_embeddings);
  EXPECT_EQ(parsed_config(with_all(config, {{"no_rope_layer_interval", 2}})).layer_rope,
            Ropes({kMain, kNone, kMain, kNone, kMain, kNone, kMain}));
  EXPECT_EQ(parsed_config(with_all(config, {{"no_rope_layer_interval", 1}})).layer_rope,
            Ropes(7, kNone));
  const Json listed = with_all(config, {{"no_rope_layers", {1, 0, 0, 1, 1, 1, 0, 0, 0}}});
  EXPECT_EQ(parsed_config(listed).layer_rope,
            Ropes({kMain, kNone, kNone, kMain, kMain, kMain, kNone}));
  for (const Json& bad : {Json(1), Json::array(), Json({1, 1, 1, 1, 1, 1}),
                          Json({1, 1, 1, 2, 1, 1, 1}), Json({1, 1, 1, "0", 1, 1, 1})}) {
    expect_invalid_config(with_all(config, {{"no_rope_layers", bad}}), "no_rope_layers");
  }
  for (const Json& bad : {Json(0), Json(-4), Json(1.5), Json("4")}) {
    expect_invalid_config(with_all(config, {{"no_rope_layer_interval", bad}}),
                          "no_rope_layer_interval");
  }
  // No other family has layers without rotation.
  EXPECT_EQ(parsed_config(with_all(minimal_config("llama", kLayers),
                                   {{"no_rope_layers", {0, 0, 0, 0, 0, 0, 0}}}))
                .layer_rope,
            Ropes(7, kMain));
}

TEST(Smollm3, slides_in_layers_that_do_not_rotate_if_told) {
  const Json config = with_all(minimal_config("smollm3", kLayers), {{"sliding_window", 32}});
  EXPECT_EQ(parsed_config(config).window, Windows(7, 0));
  EXPECT_EQ(parsed_config(with_all(config, {{"use_sliding_window", true}})).window,
            Windows({0, 0, 0, 32, 0, 0, 0}));
  EXPECT_EQ(
      parsed_config(with_all(minimal_config("smollm3", kLayers), {{"use_sliding_window", true}}))
          .window,
      Windows(7, 0));
}

TEST(Olmo2, norms_what_comes_out_and_all_heads_as_one) {
  const ModelConfig config = parsed_config(minimal_config("olmo2", kLayers));
  EXPECT_FALSE(config.input_norms);
  EXPECT_TRUE(config.output_norms);
  EXPECT_FALSE(config.norms_add_one);
  EXPECT_EQ(config.qk_norm, QkNorm::kWhole);
  EXPECT_EQ(config.attention_scale, 0.25F);
}

TEST(Olmo3, slides_without_scaling_in_all_layers_but_every_fourth) {
  const Json yarn = {
      {"rope_type", "yarn"}, {"factor", 8}, {"original_max_position_embeddings", 512}};
  const ModelConfig config = parsed_config(
      with_all(minimal_config("olmo3", kLayers), {{"sliding_window", 32}, {"rope_scaling", yarn}}));
  EXPECT_EQ(config.window, Windows({32, 32, 32, 0, 32, 32, 32}));
  EXPECT_EQ(parsed_config(minimal_config("olmo3", kLayers)).window.front(), 4096);
  EXPECT_FALSE(config.input_norms);
  EXPECT_EQ(config.qk_norm, QkNorm::kWhole);
  EXPECT_EQ(config.rope.scaling, RopeScaling::kYarn);
  EXPECT_EQ(config.local_rope.scaling, RopeScaling::kNone);
  EXPECT_EQ(config.local_rope.theta, config.rope.theta);
  EXPECT_EQ(config.layer_rope[0], LayerRope::kLocal);
  EXPECT_EQ(config.layer_rope[3], LayerRope::kMain);
  // The same as files of transformers 5 have it.
  Json nested = without(minimal_config("olmo3", kLayers), "rope_theta");
  Json full = yarn;
  full["rope_theta"] = 10000.0;
  nested["sliding_window"] = 32;
  nested["rope_parameters"] = {{"full_attention", full},
                               {"sliding_attention", {{"rope_theta", 10000.0}}}};
  EXPECT_EQ(parsed_config(nested), config);
}

TEST(Ministral3, multiplies_queries_by_their_position) {
  const Json rope = {{"rope_type", "yarn"},
                     {"factor", 4},
                     {"rope_theta", 10000.0},
                     {"original_max_position_embeddings", 1024},
                     {"mscale", 1},
                     {"mscale_all_dim", 1},
                     {"llama_4_scaling_beta", 0.1}};
  const Json whole = without(minimal_config("ministral3", kLayers), "rope_theta");
  const ModelConfig config = parsed_config(with(whole, "rope_parameters", rope));
  EXPECT_EQ(config.window, Windows(7, 0)) << "no default";
  EXPECT_EQ(config.rope.attention_factor, 1);
  EXPECT_EQ(config.query_scale(0), 1);
  EXPECT_EQ(config.query_scale(1023), 1);
  EXPECT_FLOAT_EQ(config.query_scale(1024), static_cast<float>(1 + 0.1 * std::log(2)));
  EXPECT_EQ(config.query_scale(2047), config.query_scale(1024));
  EXPECT_FLOAT_EQ(config.query_scale(3 * 1024), static_cast<float>(1 + 0.1 * std::log(4)));
  EXPECT_EQ(parsed_config(with(whole, "rope_parameters", without(rope, "llama_4_scaling_beta")))
                .query_scale(4095),
            1);
  expect_invalid_config(with(whole, "rope_parameters", with(rope, "llama_4_scaling_beta", -1)),
                        "llama_4_scaling_beta");
  expect_invalid_config(
      with(whole, "rope_parameters", without(rope, "original_max_position_embeddings")),
      "original_max_position_embeddings");
  const ModelConfig mistral = parsed_config(
      with(without(minimal_config("mistral", kLayers), "rope_theta"), "rope_parameters", rope));
  EXPECT_EQ(mistral.query_scale(4095), 1) << "another family";
}

TEST(Phi3, has_fused_projections_and_slides_in_all_layers) {
  const ModelConfig config = parsed_config(minimal_config("phi3", kLayers));
  EXPECT_TRUE(config.fused_projections);
  EXPECT_EQ(config.window, Windows(7, 0)) << "no default";
  EXPECT_EQ(
      parsed_config(with_all(minimal_config("phi3", kLayers), {{"sliding_window", 47}})).window,
      Windows(7, 47));
  EXPECT_EQ(parsed_config(with_all(minimal_config("phi3", kLayers), {{"sliding_window", nullptr}}))
                .window,
            Windows(7, 0));
}

TEST(Phi3, rotates_a_part_of_each_head) {
  const auto share = [](const Json& factor) {
    return with_all(minimal_config("phi3", kLayers), {{"partial_rotary_factor", factor}});
  };
  EXPECT_EQ(parsed_config(share(0.75)).rope.rotary_dim(16), 12);
  expect_invalid_config(share(0.06), "partial_rotary_factor", "even number");
  expect_invalid_config(share(0.2), "partial_rotary_factor", "even number");
  expect_config_error(with_all(minimal_config("llama", kLayers), {{"partial_rotary_factor", 0.5}}),
                      ErrorCode::kUnsupported, "partial_rotary_factor", "must be 1");
}

TEST(Phi3, longrope_has_a_number_for_each_rotated_pair) {
  const auto longrope = [](size_t count) {
    const std::vector<double> factors(count, 1.5);
    return with_all(
        minimal_config("phi3", kLayers),
        {{"partial_rotary_factor", 0.75},
         {"original_max_position_embeddings", 128},
         {"rope_scaling",
          {{"type", "longrope"}, {"short_factor", factors}, {"long_factor", factors}}}});
  };
  EXPECT_EQ(parsed_config(longrope(6)).rope.divisors.size(), 6u);
  expect_invalid_config(longrope(8), "long_factor", "6, got 8");
}

// The values of the 1B model's file.
Json gemma() {
  Json config = minimal_config("gemma3_text", kLayers);
  config.erase("hidden_act");
  return with_all(config, {{"hidden_activation", "gelu_pytorch_tanh"},
                           {"head_dim", 32},
                           {"query_pre_attn_scalar", 64},
                           {"sliding_window", 100},
                           {"sliding_window_pattern", 3},
                           {"rope_theta", 1000000},
                           {"rope_local_base_freq", 20000},
                           {"attn_logit_softcapping", nullptr},
                           {"final_logit_softcapping", nullptr}});
}

TEST(Gemma3, reads_a_file_as_published) {
  const ModelConfig config = parsed_config(gemma());
  EXPECT_EQ(config.activation, Activation::kGeluTanh);
  EXPECT_EQ(config.qk_norm, QkNorm::kHead);
  EXPECT_TRUE(config.input_norms && config.output_norms && config.norms_add_one);
  EXPECT_TRUE(config.tied_embeddings);
  EXPECT_EQ(config.attention_scale, 0.125F);
  EXPECT_EQ(config.attention_soft_cap, 0);
  EXPECT_EQ(config.logit_soft_cap, 0);
  EXPECT_EQ(config.embedding_multiplier, 8);
  EXPECT_TRUE(config.rounds_embedding_multiplier);
  EXPECT_EQ(config.window, Windows({100, 100, 0, 100, 100, 0, 100}));
  EXPECT_EQ(config.layer_rope, Ropes({kLocal, kLocal, kMain, kLocal, kLocal, kMain, kLocal}));
  EXPECT_EQ(config.rope.theta, 1e6);
  EXPECT_EQ(config.local_rope.theta, 2e4);
}

TEST(Gemma3, has_the_defaults_of_transformers) {
  Json config = gemma();
  for (const char* key : {"hidden_activation", "query_pre_attn_scalar", "sliding_window",
                          "sliding_window_pattern", "rope_local_base_freq"}) {
    config.erase(key);
  }
  const ModelConfig result = parsed_config(config);
  EXPECT_EQ(result.activation, Activation::kGeluTanh);
  EXPECT_EQ(result.attention_scale, 1.0F / 16);
  EXPECT_EQ(result.window, Windows({4096, 4096, 4096, 4096, 4096, 0, 4096}));
  EXPECT_EQ(result.local_rope.theta, 1e4);
}

TEST(Gemma3, scales_positions_of_global_layers_only) {
  const Json linear = {{"rope_type", "linear"}, {"factor", 8.0}};
  const ModelConfig v4 = parsed_config(with_all(gemma(), {{"rope_scaling", linear}}));
  EXPECT_EQ(v4.rope.scaling, RopeScaling::kLinear);
  EXPECT_EQ(v4.rope.factor, 8);
  EXPECT_EQ(v4.local_rope.scaling, RopeScaling::kNone);

  Json v5 = gemma();
  for (const char* key : {"rope_theta", "rope_local_base_freq", "sliding_window_pattern"}) {
    v5.erase(key);
  }
  Json types = Json::array();
  for (const int window : v4.window) {
    types.push_back(window > 0 ? "sliding_attention" : "full_attention");
  }
  v5["layer_types"] = types;
  v5["rope_parameters"] = {
      {"full_attention", with_all(linear, {{"rope_theta", 1000000}})},
      {"sliding_attention", {{"rope_type", "default"}, {"rope_theta", 20000}}}};
  EXPECT_EQ(parsed_config(v5), v4);
  v5["rope_parameters"]["sliding_attention"]["rope_theta"] = 0;
  expect_invalid_config(v5, "rope_theta");
  v5["rope_parameters"].erase("full_attention");
  expect_config_error(v5, ErrorCode::kUnsupported, "rope_parameters");
}

TEST(Gemma3, caps_what_a_file_says_is_capped) {
  const ModelConfig config = parsed_config(
      with_all(gemma(), {{"attn_logit_softcapping", 50.0}, {"final_logit_softcapping", 30}}));
  EXPECT_EQ(config.attention_soft_cap, 50);
  EXPECT_EQ(config.logit_soft_cap, 30);
  for (const char* key : {"attn_logit_softcapping", "final_logit_softcapping"}) {
    for (const Json& bad : {Json(0), Json(-30), Json(0.001), Json(1e7), Json("30"), Json(true)}) {
      expect_invalid_config(with_all(gemma(), {{key, bad}}), key);
    }
  }
}

TEST(Gemma3, refuses_values_outside_their_limits) {
  for (const char* key : {"query_pre_attn_scalar", "rope_local_base_freq", "sliding_window",
                          "sliding_window_pattern"}) {
    for (const Json& bad : {Json(0), Json(-1), Json("1"), Json(true)}) {
      expect_invalid_config(with_all(gemma(), {{key, bad}}), key);
    }
  }
  expect_config_error(with_all(gemma(), {{"hidden_activation", "gelu"}}), ErrorCode::kUnsupported,
                      "hidden_activation");
  expect_config_error(with_all(gemma(), {{"use_bidirectional_attention", true}}),
                      ErrorCode::kUnsupported, "use_bidirectional_attention");
  const Json types(std::vector<std::string>(7, "sliding_attention"));
  expect_invalid_config(with_all(gemma(), {{"layer_types", types}, {"sliding_window", nullptr}}),
                        "layer_types", "sliding_window is off");
}

}  // namespace
}  // namespace cascade
